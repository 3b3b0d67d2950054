"""Triton kernels of the head: dropout masks, and the second layer with what lies before it.

The hidden layer of many replicas is the largest array of a training, so it is read as seldom as
possible: the first product leaves X W₁ in it; the forward kernel adds the bias, cuts, drops and multiplies
by W₂ on the way; the backward kernel reads it once more, and leaves its gradient in its place.
"""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["draw_mask", "mask_inputs", "mlp_backward", "mlp_forward"]


@triton.jit
def _kept(step, key, where, p):
    """Whether an element is kept, from (key, step, place): the same whatever is computed beside it."""
    return tl.rand(key + tl.load(step).to(tl.int64) * 1_000_003, where) >= p


@triton.jit
def mask_inputs(X, out, step, key, size, p, BLOCK: tl.constexpr):
    """X with each element dropped with probability p, the kept ones scaled by 1/(1 − p)."""
    where = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = where < size
    x = tl.load(X + where, mask=inside, other=0.0)
    tl.store(out + where, tl.where(_kept(step, key, where.to(tl.uint32), p), x / (1 - p), 0.0), mask=inside)


@triton.jit
def draw_mask(out, step, key, size, p, BLOCK: tl.constexpr):
    """A mask of 0 and 1 as bytes."""
    where = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + where, _kept(step, key, where.to(tl.uint32), p).to(tl.int8), mask=where < size)


@triton.jit
def _activated(pre, bias, mask, rows, cols, n, width, h, replica, keep, DROP: tl.constexpr):
    """dropout(ReLU(pre + b)) of a tile; ``cols`` are hidden units of ``replica``."""
    inside = (rows[:, None] < n) & (cols[None, :] < h)
    value = tl.load(
        pre + rows[:, None].to(tl.int64) * width + replica * h + cols[None, :], mask=inside, other=0.0
    )
    value += tl.load(bias + replica * h + cols, mask=cols < h, other=0.0)[None, :]
    value = tl.where(inside, tl.maximum(value, 0.0), 0.0)
    if DROP:
        bits = tl.load(mask + rows[:, None] * h + cols[None, :], mask=inside, other=0)
        value = tl.where(bits != 0, value / keep, 0.0)
    return value


@triton.jit
def mlp_forward(
    pre, bias1, mask, W2, bias2, out, n, h, c, width, RC, first, keep,
    DROP: tl.constexpr, PRECISION: tl.constexpr, BN: tl.constexpr, BH: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """H⁽⁰⁾ of one run: out[:, first + r, :] = activated(pre)[:, r] W₂[first + r] + b₂."""
    r = tl.program_id(1)
    rows = tl.program_id(0) * BN + tl.arange(0, BN)
    classes = tl.program_id(2) * BC + tl.arange(0, BC)
    total = tl.zeros([BN, BC], dtype=tl.float32)
    for start in range(0, h, BH):
        cols = start + tl.arange(0, BH)
        hidden = _activated(pre, bias1, mask, rows, cols, n, width, h, r, keep, DROP)
        weights = tl.load(
            W2 + (first + r) * h * c + cols[:, None] * c + classes[None, :],
            mask=(cols[:, None] < h) & (classes[None, :] < c), other=0.0,
        )  # fmt: skip
        total += tl.dot(hidden, weights, input_precision=PRECISION)
    total += tl.load(bias2 + (first + r) * c + classes, mask=classes < c, other=0.0)[None, :]
    place = out + rows[:, None].to(tl.int64) * RC + (first + r) * c + classes[None, :]
    tl.store(place, total, mask=(rows[:, None] < n) & (classes[None, :] < c))


@triton.jit
def mlp_backward(
    pre, bias1, mask, W2, gradient, part_W2, part_b1, n, h, c, width, RC, first, n_replicas, keep, rows_each,
    DROP: tl.constexpr, PRECISION: tl.constexpr, BN: tl.constexpr, BH: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """From ∂loss/∂H⁽⁰⁾ to the gradient of the hidden layer (in place of ``pre``), of W₂ and of b₁.

    Each program takes BH hidden units of one replica and ``rows_each`` samples; W₂'s and b₁'s parts of
    the splits are added up afterwards in a fixed order, so that two runs agree.
    """
    r = tl.program_id(0)
    split = tl.program_id(2)
    cols = tl.program_id(1) * BH + tl.arange(0, BH)
    classes = tl.arange(0, BC)
    fits = (cols[:, None] < h) & (classes[None, :] < c)
    weights = tl.load(W2 + (first + r) * h * c + cols[:, None] * c + classes[None, :], mask=fits, other=0.0)
    to_W2 = tl.zeros([BH, BC], dtype=tl.float32)
    to_b1 = tl.zeros([BH], dtype=tl.float32)
    last = tl.minimum(n, (split + 1) * rows_each)
    for start in range(split * rows_each, last, BN):
        rows = start + tl.arange(0, BN)
        g = tl.load(
            gradient + rows[:, None].to(tl.int64) * RC + (first + r) * c + classes[None, :],
            mask=(rows[:, None] < last) & (classes[None, :] < c), other=0.0,
        )  # fmt: skip
        hidden = _activated(pre, bias1, mask, rows, cols, last, width, h, r, keep, DROP)
        to_W2 += tl.dot(tl.trans(hidden), g, input_precision=PRECISION)
        back = tl.dot(g, tl.trans(weights), input_precision=PRECISION)
        back = tl.where(hidden > 0, back / keep, 0.0)
        to_b1 += tl.sum(back, 0)
        place = pre + rows[:, None].to(tl.int64) * width + r * h + cols[None, :]
        tl.store(place, back, mask=(rows[:, None] < last) & (cols[None, :] < h))
    part = (split * n_replicas + r) * h
    tl.store(part_W2 + (part + cols[:, None]) * c + classes[None, :], to_W2, mask=fits)
    tl.store(part_b1 + part + cols, to_b1, mask=cols < h)
