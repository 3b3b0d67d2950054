"""Triton kernels of y = min(max(x + b, 0), 6) and its gradient, for images whose channels are stored last."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["add_and_clip", "clip_gradient"]


@triton.jit
def add_and_clip(x, bias, out, size, channels, BLOCK: tl.constexpr):
    """y of ``size`` numbers, in which the channel runs fastest."""
    where = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = where < size
    value = tl.load(x + where, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(bias + where % channels, mask=inside, other=0.0)
    tl.store(out + where, tl.minimum(tl.maximum(value, 0.0), 6.0), mask=inside)


@triton.jit
def clip_gradient(
    gradient, y, out, sums, n_rows, channels, PER: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr
):
    """The gradient where 0 < y < 6, and its sum over each ``PER`` rows: together the sums are the gradient of b."""
    first = tl.program_id(0) * PER
    channel = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for start in range(0, PER, ROWS):
        row = first + start + tl.arange(0, ROWS)
        where = row[:, None] * channels + channel[None, :]
        inside = (row[:, None] < n_rows) & (channel[None, :] < channels)
        value = tl.load(y + where, mask=inside, other=0.0).to(tl.float32)
        passed = tl.load(gradient + where, mask=inside, other=0.0).to(tl.float32)
        passed = tl.where((value > 0) & (value < 6), passed, 0.0)
        tl.store(out + where, passed, mask=inside)
        total += tl.sum(passed, 0)
    tl.store(sums + tl.program_id(0) * channels + channel, total, mask=channel < channels)
