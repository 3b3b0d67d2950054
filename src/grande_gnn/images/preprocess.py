"""Preprocessing: resize, centre crop, normalise, as the weights were trained with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

__all__ = ["Preprocess", "centre_box"]

_REDUCING_GAP = 3.0
"""Large images are first averaged down to three times the size; the result is not distinguishable."""


@dataclass(frozen=True)
class Preprocess:
    """Resize the short side to ``resize`` pixels, cut out the central ``size`` × ``size``, normalise.

    With ``squash`` the image is first made square, so that its long side is not cut off.
    """

    size: int
    resize: int
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    interpolation: str = "bicubic"
    squash: bool = False

    def crop(self, image: Image.Image) -> NDArray[np.uint8]:
        """The pixels of an RGB image that the network sees, of shape (size, size, 3).

        Resizing only the part that is kept gives the same pixels as resizing all and cropping.
        """
        method = Image.Resampling[self.interpolation.upper()]
        box = centre_box(image.size, self.size / self.resize, self.squash)
        return np.asarray(image.resize((self.size, self.size), method, box, _REDUCING_GAP))

    def normalise(self, pixels: torch.Tensor) -> torch.Tensor:
        """uint8 pixels (n, size, size, 3) as the network's float32 input (n, 3, size, size).

        The memory stays channels-last, which is the fast layout for convolutions on CPU and CUDA.
        """
        scale, shift = _scale_and_shift(self.mean, self.std, pixels.device)
        return pixels.float().mul_(scale).add_(shift).permute(0, 3, 1, 2)


@lru_cache
def _scale_and_shift(
    mean: tuple[float, ...], std: tuple[float, ...], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """(pixel/255 − mean)/std = pixel·scale + shift; kept, because sending them to a GPU would wait for it."""
    spread = torch.tensor(std, device=device)
    return 1 / (255 * spread), -torch.tensor(mean, device=device) / spread


def centre_box(
    size: tuple[int, int], part: float = 1.0, squash: bool = False
) -> tuple[float, float, float, float]:
    """Left, upper, right and lower edge of the centre of an image of this size (width, height).

    Its sides are ``part`` of the image's short side or, with ``squash``, of each side.

    >>> centre_box((400, 200), 0.5)
    (150.0, 50.0, 250.0, 150.0)
    """
    width, height = size
    part = min(part, 1.0)
    wide = part * (width if squash else min(size))
    high = part * (height if squash else min(size))
    left, top = (width - wide) / 2, (height - high) / 2
    return left, top, left + wide, top + high
