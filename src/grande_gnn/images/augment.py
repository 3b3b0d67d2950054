"""Random views of a batch of images, computed together on whatever device the batch is on.

Color changes are one affine map per sample: brightness scales, saturation mixes with the gray value, hue rotates
the chroma plane of YIQ, contrast mixes with the mean gray of the image. Geometry is one ``grid_sample``.
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

__all__ = ["center_view", "strong_view", "weak_view"]

_YIQ = torch.tensor([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])


def weak_view(images: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """A crop of at least half of the image, flipped half of the time."""
    return _random_crop(images, size, 0.5, generator)


def strong_view(images: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """A crop of at least a fifth of the image, flipped, its colors changed and a square erased."""
    return _erase(_recolor(_random_crop(images, size, 0.2, generator), generator), generator)


def center_view(images: Tensor, size: int) -> Tensor:
    """The middle of the image at its own scale; images in [0, 1], shape (n, 3, height, width)."""
    top, left = ((side - size) // 2 for side in images.shape[-2:])
    return images[..., top : top + size, left : left + size]


def _uniform(n: int, low: float, high: float, generator: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(n, generator=generator, device=generator.device)


def _random_crop(images: Tensor, size: int, least_area: float, generator: torch.Generator) -> Tensor:
    """Crop a random area with an aspect ratio of 3:4 to 4:3, flip it at random, and resize it."""
    n = len(images)
    side = _uniform(n, least_area, 1.0, generator).sqrt()
    stretch = _uniform(n, math.log(3 / 4), math.log(4 / 3), generator).mul(0.5).exp()
    width, height = (side * stretch).clamp(max=1), (side / stretch).clamp(max=1)
    flip = _uniform(n, -1, 1, generator).sign()
    x = _uniform(n, -1, 1, generator) * (1 - width)
    y = _uniform(n, -1, 1, generator) * (1 - height)
    pixels = (2 * torch.arange(size, device=images.device) + 1) / size - 1
    across = torch.addcmul(x[:, None], (width * flip)[:, None], pixels)
    down = torch.addcmul(y[:, None], height[:, None], pixels)
    grid = torch.stack([across[:, None, :].expand(n, size, size), down[:, :, None].expand(n, size, size)], 3)
    return grid_sample(images, grid, padding_mode="reflection", align_corners=False)


@cache
def _color_maps(device: torch.device) -> tuple[Tensor, Tensor]:
    """The matrices from RGB to YIQ and back, kept on the device: copying or inverting them at each step would stall a
    GPU."""
    return _YIQ.to(device), _YIQ.inverse().to(device)


def _recolor(images: Tensor, generator: torch.Generator) -> Tensor:
    """Change brightness, contrast and saturation by up to 40 % and hue by up to 36° in 4 of 5 images; make 1 of 5 gray."""
    n, device = len(images), images.device
    changed = (_uniform(n, 0, 1, generator) < 0.8).float()
    gray = _uniform(n, 0, 1, generator) < 0.2
    brightness, contrast, saturation = (1 + changed * _uniform(n, -0.4, 0.4, generator) for _ in range(3))
    angle = changed * _uniform(n, -0.1, 0.1, generator) * 2 * math.pi
    saturation = torch.where(gray, torch.zeros_like(saturation), saturation)
    yiq, back = _color_maps(device)
    rotation = torch.zeros(n, 3, 3, device=device)
    rotation[:, 0, 0] = 1
    rotation[:, 1, 1] = rotation[:, 2, 2] = saturation * angle.cos()
    rotation[:, 1, 2] = -saturation * angle.sin()
    rotation[:, 2, 1] = saturation * angle.sin()
    color = brightness[:, None, None] * (back @ rotation @ yiq)
    out = torch.einsum("nij,njhw->nihw", color, images)
    mean = (yiq[0, :, None, None] * out).sum(1, keepdim=True).mean((2, 3), keepdim=True)
    return (mean + contrast[:, None, None, None] * (out - mean)).clamp(0, 1)


def _erase(images: Tensor, generator: torch.Generator, share: float = 0.5) -> Tensor:
    """Gray out a square whose side is up to ``share`` of the image's side."""
    n, _, height, width = images.shape
    half = _uniform(n, 0, share / 2, generator)[:, None]
    across = torch.linspace(0, 1, width, device=images.device) - _uniform(n, 0, 1, generator)[:, None]
    down = torch.linspace(0, 1, height, device=images.device) - _uniform(n, 0, 1, generator)[:, None]
    inside = (down.abs() < half)[:, None, :, None] & (across.abs() < half)[:, None, None, :]
    return images.masked_fill(inside, 0.5)
