"""Three groups of samples with few labels, and a folder of coloured images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

NAMES = np.array(["cat", "dog", "elk"])


@pytest.fixture
def groups():
    """Makes n samples in three groups, of which the first are labelled: features, class codes, given labels."""

    def make(n=90, known=30, seed=0):
        rng = np.random.default_rng(seed)
        classes = np.arange(n) % 3
        X = (4 * np.eye(3)[classes] + rng.normal(size=(n, 3))).astype(np.float32)
        return X, classes, [str(NAMES[c]) if i < known else "" for i, c in enumerate(classes)]

    return make


@pytest.fixture
def photos(tmp_path, monkeypatch) -> Path:
    """Red, green and blue images, the first four of each labelled by their folder, and a broken file."""
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    folder = tmp_path / "photos"
    for i in range(36):
        pixels = rng.integers(0, 90, size=(24, 24, 3))
        pixels[..., i % 3] += 150
        place = folder / ("red", "green", "blue")[i % 3] if i < 12 else folder
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{i:02d}.png")
    (folder / "broken.jpg").write_bytes(b"not an image")
    return folder


@pytest.fixture
def assert_same():
    """Compares everything that a user sees of two labellings."""

    def compare(one, other):
        assert one.files == other.files
        assert one.labels == other.labels
        assert one.given == other.given
        assert one.runner_up == other.runner_up
        assert one.flags() == other.flags()
        np.testing.assert_array_equal(one.confidence, other.confidence)
        np.testing.assert_array_equal(one.margin, other.margin)
        assert one.accuracy == other.accuracy
        assert one.class_accuracy == other.class_accuracy
        assert one.bins == other.bins
        assert one.calibration == other.calibration

    return compare
