"""Preprocessing: the same pixels as resizing and cropping, and the formula of the normalization."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image

from grande_gnn.images.preprocess import Preprocess, center_box

Picture = Callable[..., Image.Image]


@pytest.mark.parametrize("size", [(400, 256), (256, 400), (700, 512), (100, 90), (1, 1), (3, 900)])
def test_same_as_resize_then_crop(picture: Picture, size: tuple[int, int]) -> None:
    """Up to half a pixel: offsets are not rounded here, so whole-pixel ones are compared."""
    preprocess = Preprocess(224, 256)
    image = picture(size=size)
    scale = 256 / min(size)
    resized = image.resize((round(size[0] * scale), round(size[1] * scale)), Image.Resampling.BICUBIC)
    left, top = ((side - 224) // 2 for side in resized.size)
    expected = np.asarray(resized.crop((left, top, left + 224, top + 224)), dtype=float)
    assert np.abs(preprocess.crop(image) - expected).mean() < 1.5


def test_large_images_are_reduced_without_loss(picture: Picture) -> None:
    image = picture(size=(3000, 2300))
    exact = image.resize((64, 64), Image.Resampling.BICUBIC, (350, 0, 2650, 2300))
    assert np.abs(Preprocess(64, 64).crop(image).astype(float) - np.asarray(exact)).mean() < 1


def test_mirrored_images_give_mirrored_pixels(picture: Picture) -> None:
    image = picture(size=(333, 232))
    mirrored = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    a, b = Preprocess(224, 256).crop(image), Preprocess(224, 256).crop(mirrored)
    assert np.abs(a.astype(int) - b[:, ::-1]).max() <= 1


def test_squash_keeps_the_whole_image() -> None:
    image = Image.new("RGB", (90, 30), "red")
    image.paste("blue", (60, 0, 90, 30))
    assert Preprocess(30, 30, squash=True, interpolation="nearest").crop(image)[0, -1].tolist() == [0, 0, 255]
    assert Preprocess(30, 30, interpolation="nearest").crop(image)[0, -1].tolist() == [255, 0, 0]


def test_normalize_is_the_formula_in_channels_last() -> None:
    pixels = torch.randint(0, 256, (2, 5, 5, 3), dtype=torch.uint8)
    preprocess = Preprocess(5, 5, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4))
    result = preprocess.normalize(pixels)
    mean, std = torch.tensor(preprocess.mean), torch.tensor(preprocess.std)
    assert torch.allclose(result, ((pixels / 255 - mean) / std).permute(0, 3, 1, 2), atol=1e-6)
    assert result.is_contiguous(memory_format=torch.channels_last)


def test_the_old_spelling_warns() -> None:
    pixels, preprocess = torch.zeros(1, 2, 2, 3, dtype=torch.uint8), Preprocess(2, 2)
    with pytest.warns(DeprecationWarning, match="now Preprocess.normalize"):
        assert torch.equal(preprocess.normalise(pixels), preprocess.normalize(pixels))


def test_the_center_of_an_image() -> None:
    assert center_box((400, 200)) == (100, 0, 300, 200)
    assert center_box((200, 400), 0.5) == (50, 150, 150, 250)
    assert center_box((400, 200), 0.5, squash=True) == (100, 50, 300, 150)
    assert center_box((10, 10), 1.5) == (0, 0, 10, 10)  # never more than there is
