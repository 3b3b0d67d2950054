"""Triton kernels of the head: dropout masks, and the second layer with the activation before it.

The hidden layer of many replicas is the largest array of a training, so it is read as seldom as
possible: the first product leaves W₁ᵀX in it; the forward kernel adds the bias, applies ReLU and dropout, and multiplies
by W₂ in the same pass; the backward kernel reads it once more, and leaves its gradient in its place. With many classes
its tiles would be too large for the registers, and two kernels share the work.

It is kept as (R·h, n), samples contiguous, because then both products of the first layer have their inner
dimension contiguous in both factors, the form the TF32 units take without rearranging.
"""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = [
    "draw_mask",
    "hidden_gradient",
    "mask_inputs",
    "mlp_backward",
    "mlp_forward",
    "turn",
    "weight2_gradient",
]


@triton.jit
def _kept(step, key, where, p):
    """Whether an element is kept, from (key, step, place); it does not depend on what else is computed."""
    return tl.rand(key + tl.load(step).to(tl.int64) * 1_000_003, where) >= p


@triton.jit
def mask_inputs(X, out, turned, step, key, n, d, stride, p, scale, BN: tl.constexpr, BD: tl.constexpr):
    """X with each element dropped with probability p and the kept ones times ``scale``, as (n, d) and (d, n)."""
    rows = tl.program_id(0) * BN + tl.arange(0, BN)
    cols = tl.program_id(1) * BD + tl.arange(0, BD)
    inside = (rows[:, None] < n) & (cols[None, :] < d)
    where = rows[:, None].to(tl.int64) * d + cols[None, :]
    x = tl.load(X + where, mask=inside, other=0.0)
    x = tl.where(_kept(step, key, where.to(tl.uint32), p), x * scale, 0.0)
    tl.store(out + where, x, mask=inside)
    flipped = (cols[:, None] < d) & (rows[None, :] < n)
    tl.store(turned + cols[:, None].to(tl.int64) * stride + rows[None, :], tl.trans(x), mask=flipped)


@triton.jit
def turn(x, out, n, width, stride, BN: tl.constexpr, BW: tl.constexpr):
    """Transpose an (n, width) array to (width, n), with rows ``stride`` apart."""
    rows = tl.program_id(0) * BN + tl.arange(0, BN)
    cols = tl.program_id(1) * BW + tl.arange(0, BW)
    tile = tl.load(
        x + rows[:, None].to(tl.int64) * width + cols[None, :],
        mask=(rows[:, None] < n) & (cols[None, :] < width), other=0.0,
    )  # fmt: skip
    place = out + cols[:, None].to(tl.int64) * stride + rows[None, :]
    tl.store(place, tl.trans(tile), mask=(cols[:, None] < width) & (rows[None, :] < n))


@triton.jit
def draw_mask(out, step, key, size, p, BLOCK: tl.constexpr):
    """A mask of 0 and 1 as bytes."""
    where = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + where, _kept(step, key, where.to(tl.uint32), p).to(tl.int8), mask=where < size)


@triton.jit
def _activated(
    pre, bias, mask, units, rows, end, stride, h, replica, kept_times, unscale, DROP: tl.constexpr
):
    """dropout(ReLU(pre · unscale + b)) of a (units, rows) tile of ``replica``."""
    inside = (units[:, None] < h) & (rows[None, :] < end)
    place = (replica * h + units[:, None]).to(tl.int64) * stride + rows[None, :]
    value = tl.load(pre + place, mask=inside, other=0.0).to(tl.float32) * unscale
    value += tl.load(bias + replica * h + units, mask=units < h, other=0.0)[:, None]
    value = tl.where(inside, tl.maximum(value, 0.0), 0.0)
    if DROP:
        bits = tl.load(mask + units[:, None].to(tl.int64) * stride + rows[None, :], mask=inside, other=0)
        value = tl.where(bits != 0, value * kept_times, 0.0)
    return value


@triton.jit
def mlp_forward(
    pre, bias1, mask, W2, bias2, out, n, h, c, stride, RC, first, kept_times, unscale,
    DROP: tl.constexpr, PRECISION: tl.constexpr, BN: tl.constexpr, BH: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """H⁽⁰⁾ of one run: out[:, first + r, :] = activated(pre)[r]ᵀ W₂[first + r] + b₂."""
    r = tl.program_id(1)
    rows = tl.program_id(0) * BN + tl.arange(0, BN)
    classes = tl.program_id(2) * BC + tl.arange(0, BC)
    total = tl.zeros([BN, BC], dtype=tl.float32)
    for start in range(0, h, BH):
        units = start + tl.arange(0, BH)
        hidden = _activated(pre, bias1, mask, units, rows, n, stride, h, r, kept_times, unscale, DROP)
        weights = tl.load(
            W2 + (first + r) * h * c + units[:, None] * c + classes[None, :],
            mask=(units[:, None] < h) & (classes[None, :] < c), other=0.0,
        )  # fmt: skip
        total += tl.dot(tl.trans(hidden), weights, input_precision=PRECISION)
    total += tl.load(bias2 + (first + r) * c + classes, mask=classes < c, other=0.0)[None, :]
    place = out + rows[:, None].to(tl.int64) * RC + (first + r) * c + classes[None, :]
    tl.store(place, total, mask=(rows[:, None] < n) & (classes[None, :] < c))


@triton.jit
def _output_gradient(gradient, rows, classes, end, c, RC, replica):
    """∂loss/∂H⁽⁰⁾ of a (rows, classes) tile."""
    place = gradient + rows[:, None].to(tl.int64) * RC + replica * c + classes[None, :]
    return tl.load(place, mask=(rows[:, None] < end) & (classes[None, :] < c), other=0.0)


@triton.jit
def _store_hidden(pre, value, units, rows, end, stride, h, replica):
    """Put a (units, rows) tile of ``replica`` in its place in the hidden layer."""
    if pre.dtype.element_ty == tl.float16:
        value = tl.clamp(value, -65504.0, 65504.0)  # the largest of float16; beyond it lies infinity
    place = pre + (replica * h + units[:, None]).to(tl.int64) * stride + rows[None, :]
    tl.store(place, value, mask=(units[:, None] < h) & (rows[None, :] < end))


@triton.jit
def mlp_backward(
    pre, bias1, mask, W2, gradient, part_W2, part_b1, n, h, c, stride, RC, first, n_replicas, kept_times, unscale, rows_each,
    DROP: tl.constexpr, PRECISION: tl.constexpr, BN: tl.constexpr, BH: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """From ∂loss/∂H⁽⁰⁾ to the gradient of the hidden layer (in place of ``pre``), of W₂ and of b₁; for few classes.

    Each program takes BH hidden units of one replica and ``rows_each`` samples; the partial gradients of W₂ and
    b₁ are added up afterwards in a fixed order, so that two runs agree.
    """
    r = tl.program_id(0)
    split = tl.program_id(2)
    units = tl.program_id(1) * BH + tl.arange(0, BH)
    classes = tl.arange(0, BC)
    fits = (units[:, None] < h) & (classes[None, :] < c)
    weights = tl.load(W2 + (first + r) * h * c + units[:, None] * c + classes[None, :], mask=fits, other=0.0)
    to_W2 = tl.zeros([BH, BC], dtype=tl.float32)
    to_b1 = tl.zeros([BH], dtype=tl.float32)
    last = tl.minimum(n, (split + 1) * rows_each)
    for start in range(split * rows_each, last, BN):
        rows = start + tl.arange(0, BN)
        g = _output_gradient(gradient, rows, classes, last, c, RC, first + r)
        hidden = _activated(pre, bias1, mask, units, rows, last, stride, h, r, kept_times, unscale, DROP)
        to_W2 += tl.dot(hidden, g, input_precision=PRECISION)
        back = tl.dot(weights, tl.trans(g), input_precision=PRECISION)
        back = tl.where(hidden > 0, back * kept_times, 0.0)
        to_b1 += tl.sum(back, 1)
        _store_hidden(pre, back, units, rows, last, stride, h, r)
    part = (split * n_replicas + r) * h
    tl.store(part_W2 + (part + units[:, None]) * c + classes[None, :], to_W2, mask=fits)
    tl.store(part_b1 + part + units, to_b1, mask=units < h)


@triton.jit
def weight2_gradient(
    pre, bias1, mask, gradient, part_W2, n, h, c, stride, RC, first, n_replicas, kept_times, unscale, rows_each,
    DROP: tl.constexpr, PRECISION: tl.constexpr, BN: tl.constexpr, BH: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """activated(pre)[r] · ∂loss/∂H⁽⁰⁾, the gradient of W₂, for BH hidden units, BC classes and ``rows_each`` samples.

    With :func:`hidden_gradient` after it, the same as :func:`mlp_backward`, for many classes.
    """
    r = tl.program_id(0)
    blocks = tl.cdiv(c, BC)
    units = tl.program_id(1) // blocks * BH + tl.arange(0, BH)
    classes = tl.program_id(1) % blocks * BC + tl.arange(0, BC)
    split = tl.program_id(2)
    total = tl.zeros([BH, BC], dtype=tl.float32)
    last = tl.minimum(n, (split + 1) * rows_each)
    for start in range(split * rows_each, last, BN):
        rows = start + tl.arange(0, BN)
        hidden = _activated(pre, bias1, mask, units, rows, last, stride, h, r, kept_times, unscale, DROP)
        g = _output_gradient(gradient, rows, classes, last, c, RC, first + r)
        total += tl.dot(hidden, g, input_precision=PRECISION)
    place = part_W2 + ((split * n_replicas + r) * h + units[:, None]).to(tl.int64) * c + classes[None, :]
    tl.store(place, total, mask=(units[:, None] < h) & (classes[None, :] < c))


@triton.jit
def hidden_gradient(
    pre, bias1, mask, W2, gradient, part_b1, n, h, c, stride, RC, first, n_replicas, kept_times, unscale,
    DROP: tl.constexpr, PRECISION: tl.constexpr, BN: tl.constexpr, BH: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """W₂ · ∂loss/∂H⁽⁰⁾ where ReLU and dropout kept the hidden layer, in place of ``pre``, and its sums over BN samples."""
    blocks = tl.cdiv(h, BH)
    units = tl.program_id(0) % blocks * BH + tl.arange(0, BH)
    samples = tl.program_id(0) // blocks
    rows = samples * BN + tl.arange(0, BN)
    r = tl.program_id(1)
    back = tl.zeros([BH, BN], dtype=tl.float32)
    for start in range(0, c, BC):
        classes = start + tl.arange(0, BC)
        weights = tl.load(
            W2 + (first + r) * h * c + units[:, None] * c + classes[None, :],
            mask=(units[:, None] < h) & (classes[None, :] < c), other=0.0,
        )  # fmt: skip
        g = _output_gradient(gradient, rows, classes, n, c, RC, first + r)
        back += tl.dot(weights, tl.trans(g), input_precision=PRECISION)
    hidden = _activated(pre, bias1, mask, units, rows, n, stride, h, r, kept_times, unscale, DROP)
    back = tl.where(hidden > 0, back * kept_times, 0.0)
    part = (samples * n_replicas + r).to(tl.int64) * h
    tl.store(part_b1 + part + units, tl.sum(back, 1), mask=units < h)
    _store_hidden(pre, back, units, rows, n, stride, h, r)
