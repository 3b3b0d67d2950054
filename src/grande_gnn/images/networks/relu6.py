"""min(max(x + b, 0), 6) with a bias b for each channel: in one pass over the images on a GPU, and one backward.

Plain torch takes two passes, and three or more backward. A network of many cheap convolutions spends most of its time on
such passes.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import relu6

__all__ = ["FusedRelu6", "biased_relu6"]

BLOCK = 1024
"""Numbers per program of the forward kernel."""

PER, ROWS, WIDTH = 256, 32, 64
"""Rows and channels per program of the backward kernel, and rows that it holds at a time."""


def biased_relu6(x: Tensor, bias: Tensor) -> Tensor:
    """relu6(x + b) of images (n, channels, height, width)."""
    is_fused = (
        x.is_cuda
        and x.is_contiguous(memory_format=torch.channels_last)
        and x.numel() < 2**31  # the kernels count in 32 bits
        and find_spec("triton") is not None
    )
    if is_fused:
        return FusedRelu6.apply(x, bias)  # type: ignore[no-untyped-call]
    return relu6(x + bias[:, None, None])


class FusedRelu6(torch.autograd.Function):
    """The kernels, for images whose channels are stored last."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:  # type: ignore[override]
        """relu6(x + b)."""
        from grande_gnn.images.networks.relu6_kernels import add_and_clip

        y, size = torch.empty_like(x), x.numel()
        add_and_clip[(-(-size // BLOCK),)](x, bias, y, size, x.shape[1], BLOCK=BLOCK)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The gradients of x and b."""
        from grande_gnn.images.networks.relu6_kernels import clip_gradient

        (y,) = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        channels = y.shape[1]
        n_rows = y.numel() // channels
        out, n_parts = torch.empty_like(gradient), -(-n_rows // PER)
        sums = torch.empty(n_parts, channels, dtype=torch.float32, device=y.device)
        clip_gradient[(n_parts, -(-channels // WIDTH))](
            gradient, y, out, sums, n_rows, channels, PER=PER, ROWS=ROWS, WIDTH=WIDTH
        )
        return out, sums.sum(0)
