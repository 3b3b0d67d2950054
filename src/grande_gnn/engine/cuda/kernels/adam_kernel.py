"""The Triton kernel of Adam."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["adam"]


@triton.jit
def adam(
    parameter, gradient, mean, square, copy, corrections, step, size, lr, decay, unscale,
    COPIES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """β₁ = 0.9, β₂ = 0.999, ε = 1e-8 and L2 decay, as ``torch.optim.Adam``; the gradient comes scaled."""
    where = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = where < size
    epoch = tl.load(step)
    p = tl.load(parameter + where, mask=inside, other=0.0)
    g = tl.load(gradient + where, mask=inside, other=0.0) * unscale + decay * p
    m = 0.9 * tl.load(mean + where, mask=inside, other=0.0) + 0.1 * g
    v = 0.999 * tl.load(square + where, mask=inside, other=0.0) + 0.001 * g * g
    p -= (
        lr
        * (m * tl.load(corrections + 2 * epoch))
        / (tl.sqrt(v * tl.load(corrections + 2 * epoch + 1)) + 1e-8)
    )
    tl.store(mean + where, m, mask=inside)
    tl.store(square + where, v, mask=inside)
    tl.store(parameter + where, p, mask=inside)
    if COPIES:
        tl.store(copy + where, p, mask=inside)
