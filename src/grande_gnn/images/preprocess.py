"""Preprocessing: resize, crop the center and normalize, as when the weights were trained."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

__all__ = ["Preprocess", "center_box"]

_REDUCING_GAP = 3.0
"""Large images are first averaged down to three times the final size; the difference is not visible."""


@dataclass(frozen=True)
class Preprocess:
    """Resize the short side to ``resize`` pixels, crop the central ``size`` × ``size``, normalize.

    With ``squash`` the image is first made square, so that nothing of its long side is lost.
    """

    size: int
    resize: int
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    interpolation: str = "bicubic"
    squash: bool = False

    def crop(self, image: Image.Image) -> NDArray[np.uint8]:
        """The pixels of an RGB image that the network gets as input, of shape (size, size, 3).

        Only the cropped part is resized, which gives the same pixels as resizing the image and cropping it afterwards.
        """
        method = Image.Resampling[self.interpolation.upper()]
        box = center_box(image.size, self.size / self.resize, self.squash)
        return np.asarray(image.resize((self.size, self.size), method, box, _REDUCING_GAP))

    def normalize(self, pixels: torch.Tensor) -> torch.Tensor:
        """Turn uint8 pixels (n, size, size, 3) into the network's float32 input (n, 3, size, size).

        The memory layout stays channels-last, which is the fast one for convolutions on CPU and CUDA.
        """
        scale, shift = _scale_and_shift(self.mean, self.std, pixels.device)
        return pixels.float().mul_(scale).add_(shift).permute(0, 3, 1, 2)

    def normalise(self, pixels: torch.Tensor) -> torch.Tensor:
        """The name of :meth:`normalize` in version 0.1."""
        warnings.warn("Preprocess.normalise is now Preprocess.normalize", DeprecationWarning, stacklevel=2)
        return self.normalize(pixels)


@lru_cache
def _scale_and_shift(
    mean: tuple[float, ...], std: tuple[float, ...], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """(pixel/255 − mean)/std = pixel·scale + shift.

    The result is cached, because copying it to a GPU again would synchronize with the GPU.
    """
    spread = torch.tensor(std, device=device)
    return 1 / (255 * spread), -torch.tensor(mean, device=device) / spread


def center_box(
    size: tuple[int, int], part: float = 1.0, squash: bool = False
) -> tuple[float, float, float, float]:
    """Left, upper, right and lower edge of the center of an image of this size (width, height).

    The sides of the box are ``part`` of the image's short side or, with ``squash``, of each side.

    >>> center_box((400, 200), 0.5)
    (150.0, 50.0, 250.0, 150.0)
    """
    width, height = size
    part = min(part, 1.0)
    wide = part * (width if squash else min(size))
    high = part * (height if squash else min(size))
    left, top = (width - wide) / 2, (height - high) / 2
    return left, top, left + wide, top + high
