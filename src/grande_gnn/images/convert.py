"""Convert an image of any mode to RGB, in bands of rows, so that no second copy of a large image is made.

Each pixel of the result depends on one pixel of the image (and, for 32-bit numbers, on the range of all pixels), so
converting in bands gives the same result as converting the whole image.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from PIL import Image

__all__ = ["to_rgb"]

_BAND_PIXELS = 2**20
"""Pixels in a band. Converting takes at most 40 bytes per pixel, so a band is small compared with a large image."""


def to_rgb(image: Image.Image) -> Image.Image:
    """The image as RGB: transparent pixels are white, and 16-bit and 32-bit numbers become 8-bit gray."""
    if image.mode == "RGB" and not image.has_transparency_data:
        return image
    numbers = _range(image) if image.mode in ("I", "F") else (0, 0)
    if image.width * image.height <= _BAND_PIXELS:
        return _converted(image, *numbers)
    result = Image.new("RGB", image.size)
    for top, band in _bands(image):
        result.paste(_converted(band, *numbers), (0, top))
    return result


def _bands(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    rows = max(1, _BAND_PIXELS // image.width)
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _converted(image: Image.Image, low: float, high: float) -> Image.Image:
    if image.mode.startswith(("I", "F")):
        image = _to_gray(image, low, high)
    if image.has_transparency_data:
        # On white, as most viewers show it; the color stored under transparent pixels means nothing.
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _range(image: Image.Image) -> tuple[np.generic, np.generic]:
    """The smallest and the largest number of an image of mode I or F, without NaN."""
    low = high = None
    for _, band in _bands(image):
        values = np.asarray(band)
        low = np.nanmin(values) if low is None else np.fmin(low, np.nanmin(values))
        high = np.nanmax(values) if high is None else np.fmax(high, np.nanmax(values))
    assert low is not None  # an image has pixels
    assert high is not None
    return low, high


def _to_gray(image: Image.Image, low: float, high: float) -> Image.Image:
    """8-bit gray from 16-bit (its full range) or from 32-bit numbers (``low`` becomes 0 and ``high`` 255).

    Pillow's own conversion clips everything above 255.
    """
    values = np.asarray(image)
    if image.mode.startswith("I;16"):
        return Image.fromarray((values.astype(np.uint32) // 257).astype(np.uint8))
    scaled = np.nan_to_num((values - low) * (255.0 / max(float(high) - float(low), 1e-30)))
    return Image.fromarray(scaled.clip(0, 255).astype(np.uint8))
