"""A convolution, the batch normalization after it and its activation, computed together.

A normalization that keeps its statistics only scales and shifts the output of the convolution:

    γ (conv(x, w) − μ) / √(v + ε) + β  =  conv(x, s w) + (β − s μ),        s = γ / √(v + ε)

so scaling the weights replaces a pass over the images, and several of the backward pass. w, γ and β can all be trained.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, relu6

from grande_gnn.images.networks.relu6 import biased_relu6

__all__ = ["ConvNorm", "MobileBlock"]


class ConvNorm(nn.Module):
    """conv, norm and, if ``is_activated``, ReLU6. The norm may already be merged into the convolution (an identity)."""

    def __init__(self, conv: nn.Conv2d, norm: nn.Module, *, is_activated: bool) -> None:
        super().__init__()
        self.conv, self.norm, self.is_activated = conv, norm, is_activated

    def forward(self, images: Tensor) -> Tensor:
        """The activations of the images (n, channels, height, width)."""
        if self.norm.training and isinstance(self.norm, nn.BatchNorm2d):
            normalized = self.norm(self.conv(images))
            return relu6(normalized) if self.is_activated else normalized
        weight, bias = self._merged()
        if not self.is_activated or bias is None:
            out = self._convolved(images, weight, bias)
            return relu6(out) if self.is_activated else out
        if images.is_cuda:
            return biased_relu6(self._convolved(images, weight, None), bias)
        return relu6(self._convolved(images, weight, bias))

    def _convolved(self, images: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        conv: Any = self.conv
        padded = conv.static_padding(images) if hasattr(conv, "static_padding") else images
        return conv2d(padded, weight, bias, conv.stride, conv.padding, conv.dilation, conv.groups)

    def _merged(self) -> tuple[Tensor, Tensor | None]:
        """s w and β − s μ."""
        norm = self.norm
        if not isinstance(norm, nn.BatchNorm2d):
            return self.conv.weight, self.conv.bias
        assert norm.running_var is not None
        assert norm.running_mean is not None
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        return self.conv.weight * scale[:, None, None, None], norm.bias - scale * norm.running_mean


class MobileBlock(nn.Module):
    """An inverted bottleneck: expand the channels, filter each one, project them back, and add the input if it fits."""

    def __init__(self, steps: list[ConvNorm], *, adds_input: bool) -> None:
        super().__init__()
        self.steps, self.adds_input = nn.Sequential(*steps), adds_input

    def forward(self, images: Tensor) -> Tensor:
        """The block's output."""
        out: Tensor = self.steps(images)
        return out + images if self.adds_input else out
