"""A data folder small enough to train on in a test."""

from pathlib import Path

import numpy as np
import pytest


def save_blobs(folder: Path, name: str, n_classes: int = 3, per_class: int = 12, seed: int = 0) -> Path:
    """Write ``folder/features_<name>.npz`` with Gaussian classes and return its path."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), per_class)
    features = rng.normal(size=(n_classes, 6))[labels] + rng.normal(size=(len(labels), 6))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"features_{name}.npz"
    np.savez(
        path,
        features=features.astype(np.float32),
        labels=labels,
        files=np.array([f"images/{i}.jpg" for i in range(len(labels))]),
    )
    return path


@pytest.fixture
def save_toy():
    """The function that writes a small features file."""
    return save_blobs


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with two custom datasets."""
    save_blobs(tmp_path / "data" / "blobs", "a")
    save_blobs(tmp_path / "data" / "others", "b", n_classes=2, seed=1)
    return tmp_path / "data"
