"""Preprocessing: resize, centre crop, normalise, as the weights were trained with."""

from __future__ import annotations

from dataclasses import dataclass

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
        scale = 1 / (255 * torch.tensor(self.std, device=pixels.device))
        shift = -torch.tensor(self.mean, device=pixels.device) / torch.tensor(self.std, device=pixels.device)
        return pixels.float().mul_(scale).add_(shift).permute(0, 3, 1, 2)


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
