"""Small images to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def picture() -> Callable[..., Image.Image]:
    """Makes a smooth RGB image that differs for each seed."""

    def make(seed: int = 0, size: tuple[int, int] = (40, 30)) -> Image.Image:
        noise = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), dtype=np.uint8)
        return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC)

    return make


@pytest.fixture
def class_folders(tmp_path: Path, picture: Callable[..., Image.Image]) -> Path:
    """Two classes of three images, and two unlabelled images."""
    root = tmp_path / "pictures"
    names = [*(f"rose/{i}.jpg" for i in range(3)), *(f"daisy/{i}.png" for i in range(3)), "a.jpg", "b.jpg"]
    for seed, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        picture(seed).save(root / name)
    return root


@pytest.fixture
def flowers(shared_data: Callable[[str], Path]) -> Path:
    """The Flowers17 photos."""
    return shared_data("flowers17")
