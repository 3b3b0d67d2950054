"""Bands give the same pixels as converting the whole image at once."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from grande_gnn.images import convert

MODES = ["1", "L", "P", "LA", "PA", "RGBA", "RGBa", "CMYK", "YCbCr", "HSV", "LAB", "I", "F", "I;16", "I;16B"]


def image_of(mode: str) -> Image.Image:
    rng = np.random.default_rng(0)
    if mode.startswith("I;16"):
        values = rng.integers(0, 2**16, (37, 23)).astype("<u2" if mode == "I;16" else ">u2")
        return Image.frombytes(mode, (23, 37), values.tobytes())
    if mode in ("I", "F"):
        values = rng.normal(size=(37, 23)) * 1e6
        if mode == "F":
            values[3, 4] = np.nan
        return Image.fromarray(values.astype(np.int32 if mode == "I" else np.float32))
    image = Image.fromarray(rng.integers(0, 256, (37, 23, 4), dtype=np.uint8), "RGBA")
    if mode == "P":
        paletted = image.convert("RGB").quantize(16)
        paletted.info["transparency"] = 3
        return paletted
    if mode in ("PA", "LAB", "HSV"):
        return Image.frombytes(
            mode, (23, 37), image.tobytes()[: 37 * 23 * len(Image.new(mode, (1, 1)).getbands())]
        )
    return image.convert(mode)


@pytest.mark.parametrize("mode", MODES)
def test_bands_change_nothing(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image = image_of(mode)
    assert image.mode == mode
    whole = convert.to_rgb(image)
    assert whole.mode == "RGB"
    for n_pixels in (1, 50, 23 * 36):
        monkeypatch.setattr(convert, "_BAND_PIXELS", n_pixels)
        np.testing.assert_array_equal(np.asarray(convert.to_rgb(image)), np.asarray(whole))


def test_rgb_is_left_alone() -> None:
    image = Image.new("RGB", (3, 3))
    assert convert.to_rgb(image) is image


def test_numbers_are_stretched_to_the_range_of_the_whole_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "_BAND_PIXELS", 4)
    values = np.arange(0, 512, 2, dtype=np.int32).reshape(64, 4)
    gray = np.asarray(convert.to_rgb(Image.fromarray(values)))[..., 0]
    assert (gray.min(), gray.max()) == (0, 255)
    assert np.abs(gray - values / 2).max() <= 1
