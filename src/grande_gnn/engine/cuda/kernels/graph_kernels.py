"""Triton kernels of the graph part: pair distances, degree, hops, and their gradients.

Layout: H and everything of its shape is (n, R·c), node-major, so that a neighbor's row is one
contiguous read for all replicas, and a block of columns of all nodes stays in the L2 cache while the
programs of that block run (program 0 counts nodes and runs fastest). Degrees and scales are (n, R); squared
distances are (pairs + 1, R), the last row being the zeros of all self-loops. Nothing of size
edges × classes is ever stored. S and V, which the hops read and write, may be float16; sums are float32.
"""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = [
    "degree_backward",
    "degree_forward",
    "degree_share",
    "gather_gradients",
    "hop",
    "pair_distances",
    "pair_weights",
]


@triton.jit
def _width(RC, QUADS: tl.constexpr):
    """R·c; if it is a multiple of four, the compiler can see that, and four numbers are read at once.

    Kernels that sum float16 must not see more: eight would be read at once, and sums would not stay inside a thread.
    """
    return RC // 4 * 4 if QUADS else RC


@triton.jit(do_not_specialize=["RC"])
def hop(
    S, H, D, out, indptr, indices, RC, R, C, keep, back,
    RETURN: tl.constexpr, SCALE: tl.constexpr, QUADS: tl.constexpr, BLOCK: tl.constexpr, NB: tl.constexpr,
):  # fmt: skip
    """z_q = keep · d_q Σ S_i (+ back · H_q if RETURN); writes z, or d ⊙ z for the next hop if SCALE.

    Forward, S = d ⊙ H⁽ᵏ⁻¹⁾, keep = 1 − α, back = α; backward, S = d ⊙ G⁽ᵏ⁾ and nothing returns.
    """
    RC = _width(RC, QUADS)
    q = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = cols < RC
    end = tl.load(indptr + q + 1)
    lanes = tl.arange(0, NB)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for e in range(tl.load(indptr + q), end, NB):  # NB neighbors at a time, so that their loads overlap
        here = e + lanes < end
        i = tl.load(indices + e + lanes, mask=here, other=0).to(tl.int64)
        tile = tl.load(S + i[:, None] * RC + cols[None, :], mask=here[:, None] & inside[None, :], other=0.0)
        total += tl.sum(tile.to(tl.float32), 0)
    d = tl.load(D + q * R + cols // C, mask=inside, other=0.0)
    z = keep * d * total
    if RETURN:
        z += back * tl.load(H + q * RC + cols, mask=inside, other=0.0)
    if SCALE:
        z = z * d
    tl.store(out + q * RC + cols, z, mask=inside)


@triton.jit(do_not_specialize=["RC"])
def gather_gradients(
    S, V, H, Z, D, to_head, size, RC, R, C, K, alpha, QUADS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Collect what the hops sent back, from S_k = d ⊙ H⁽ᵏ⁾ and V_k = d ⊙ G⁽ᵏ⁾ (arrays of ``size`` one after the other).

    to_head = G⁽⁰⁾ + α Σ_{k ≥ 1} G⁽ᵏ⁾; in place of Z: G⁽⁰⁾ ⊙ H + Σ_{0 < k < K} G⁽ᵏ⁾ ⊙ (2H⁽ᵏ⁾ − αH) + G⁽ᴷ⁾ ⊙ (Z − αH), whose
    sums over the classes are ∂loss/∂(log d).
    """
    RC = _width(RC, QUADS)
    q = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = cols < RC
    place = q * RC + cols
    per_d = 1 / tl.load(D + q * R + cols // C, mask=inside, other=1.0)
    h = tl.load(H + place, mask=inside, other=0.0)
    head = tl.load(V + place, mask=inside, other=0.0).to(tl.float32) * per_d
    log_scale = head * h
    gradients, states = V + place, S + place
    for _ in range(1, K):
        gradients += size
        states += size
        G = tl.load(gradients, mask=inside, other=0.0).to(tl.float32) * per_d
        z = tl.load(states, mask=inside, other=0.0).to(tl.float32) * per_d
        head += alpha * G
        log_scale += G * (2 * z - alpha * h)
    G = tl.load(gradients + size, mask=inside, other=0.0).to(tl.float32) * per_d
    z = tl.load(Z + place, mask=inside, other=0.0)
    tl.store(to_head + place, head + alpha * G, mask=inside)
    tl.store(Z + place, log_scale + G * (z - alpha * h), mask=inside)


@triton.jit
def degree_share(log_scale, delta, uses, count, share, RC, R, C, RB: tl.constexpr, CB: tl.constexpr):
    """From ∂loss/∂(log d), still to be summed over the classes, the share of each neighbor in the penalty's gradient."""
    q = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1) * RB + tl.arange(0, RB)
    c = tl.arange(0, CB)
    valid = r < R
    inside = valid[:, None] & (c[None, :] < C)
    tile = tl.load(log_scale + q * RC + r[:, None] * C + c[None, :], mask=inside, other=0.0)
    spread = tl.load(delta + q * R + r, mask=valid, other=1.0) * tl.load(count + q)
    part = -0.5 * tl.load(uses + r, mask=valid, other=0.0) * tl.sum(tile, 1) / spread
    tl.store(share + q * R + r, part, mask=valid)


@triton.jit
def pair_distances(H, rho, largest, pair_ptr, right, RC, R, C, RB: tl.constexpr, CB: tl.constexpr):
    """ρ² of the pairs (a, b) of node a for RB replicas, and their maximum for each replica."""
    a = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1) * RB + tl.arange(0, RB)
    c = tl.arange(0, CB)
    tile = r[:, None] * C + c[None, :]
    inside = (r[:, None] < R) & (c[None, :] < C)
    ha = tl.load(H + a * RC + tile, mask=inside, other=0.0)
    most = tl.zeros([RB], dtype=tl.float32)
    start = tl.load(pair_ptr + a)
    place = rho + start.to(tl.int64) * R + r
    for p in range(start, tl.load(pair_ptr + a + 1)):
        b = tl.load(right + p).to(tl.int64)
        difference = ha - tl.load(H + b * RC + tile, mask=inside, other=0.0)
        square = tl.sum(difference * difference, 1)
        tl.store(place, square, mask=r < R)
        place += R
        most = tl.maximum(most, square)
    tl.atomic_max(largest + r, most, mask=r < R)


@triton.jit
def degree_forward(
    rho, rate, uses, delta, D, indptr, entry_pair, R, cap, BLOCK: tl.constexpr
):  # fmt: skip
    """δ = |N| + uses · mean exp(ρ²·rate), and d = δ^(−½)."""
    q = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = r < R
    start = tl.load(indptr + q)
    end = tl.load(indptr + q + 1)
    speed = tl.load(rate + r, mask=inside, other=0.0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for e in range(start, end):
        p = tl.load(entry_pair + e).to(tl.int64)
        square = tl.load(rho + p * R + r, mask=inside, other=0.0)
        total += tl.exp(tl.minimum(square * speed, cap))
    count = (end - start).to(tl.float32)
    value = count + tl.load(uses + r, mask=inside, other=0.0) * total / count
    tl.store(delta + q * R + r, value, mask=inside)
    tl.store(D + q * R + r, 1 / tl.sqrt(value), mask=inside)


@triton.jit
def pair_weights(rho, rate, share, left, right, R, cap, BLOCK: tl.constexpr):
    """In place of ρ²: w = 2·rate·exp(ρ²·rate)·(share_a + share_b), twice the gradient of the loss with respect to ρ²."""
    p = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = r < R
    a = tl.load(left + p).to(tl.int64)
    b = tl.load(right + p).to(tl.int64)
    speed = tl.load(rate + r, mask=inside, other=0.0)
    exponent = tl.load(rho + p * R + r, mask=inside, other=0.0) * speed
    both = tl.load(share + a * R + r, mask=inside, other=0.0) + tl.load(
        share + b * R + r, mask=inside, other=0.0
    )
    slope = tl.where(exponent <= cap, tl.exp(tl.minimum(exponent, cap)), 0.0)
    tl.store(rho + p * R + r, 2 * speed * slope * both, mask=inside)


@triton.jit
def degree_backward(
    H, weight, to_head, indptr, indices, entry_pair, RC, R, C,
    QUADS: tl.constexpr, BLOCK: tl.constexpr, NB: tl.constexpr,
):  # fmt: skip
    """Add Σ_i w(q, i)(h_q − h_i) to ``to_head``: the Laplacian of the pair weights."""
    RC = _width(RC, QUADS)
    q = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = cols < RC
    replica = cols // C
    own = q * RC + cols
    hq = tl.load(H + own, mask=inside, other=0.0)
    total = tl.load(to_head + own, mask=inside, other=0.0)
    end = tl.load(indptr + q + 1)
    lanes = tl.arange(0, NB)
    for e in range(tl.load(indptr + q), end, NB):
        here = e + lanes < end
        i = tl.load(indices + e + lanes, mask=here, other=0).to(tl.int64)
        p = tl.load(entry_pair + e + lanes, mask=here, other=0).to(tl.int64)
        both = here[:, None] & inside[None, :]
        hi = tl.load(H + i[:, None] * RC + cols[None, :], mask=both, other=0.0)
        w = tl.load(weight + p[:, None] * R + replica[None, :], mask=both, other=0.0)
        total += tl.sum(w * (hq[None, :] - hi), 0)
    tl.store(to_head + own, total, mask=inside)
