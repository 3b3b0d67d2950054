"""The extractor without weights: the pixels themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import load_extractor


def pixels(n_images: int, size: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n_images, size, size, 3), dtype=torch.uint8, generator=generator)


def test_pixels_are_the_pixels() -> None:
    extractor = load_extractor("pixels")
    images = pixels(2, 16)
    features = extractor(images)
    assert features.shape == (2, 768)
    assert torch.allclose(features, (images.permute(0, 3, 1, 2).reshape(2, -1) / 127.5) - 1, atol=1e-6)
    crop = extractor.preprocess.crop(Image.new("RGB", (50, 20), (255, 0, 0)))
    assert (crop == np.array([255, 0, 0])).all()
    with pytest.raises(InvalidInputError, match="has no weights"):
        load_extractor("pixels", "x.pth")


def test_the_store_of_the_first_version_is_found_again() -> None:
    """The identity names the store: a user's features must not be extracted again after an update."""
    assert load_extractor("pixels").identity == "pixels-7f848ebe7076"
