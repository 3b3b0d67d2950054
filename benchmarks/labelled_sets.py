"""Sets of images whose labels are all known, as features, and random choices of which labels to show."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from grande_gnn import LabelOptions
from grande_gnn.images import find_images
from grande_gnn.internal.features_file import load_features
from grande_gnn.labelling.run import extract_images

EXTRACTOR = "lite0"
"""The network of the features files, so that all sets are comparable."""


def labelled_set(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and class codes of ``data/name``: its first features file, or its images with ``labels.csv``."""
    files = sorted((data / name).glob("features_*.npz"))
    if files:
        content = load_features(files[0])
        return content.features, np.unique(content.labels, return_inverse=True)[1]
    images = find_images(data / name / "images", data / name / "labels.csv")
    extraction = extract_images(images, LabelOptions(extractor=EXTRACTOR, device="cpu"))
    return extraction.features(), np.unique(extraction.images.labels, return_inverse=True)[1]


def random_labels(y: np.ndarray, per_class: int, seed: int) -> np.ndarray:
    """Which samples are labelled: so many of each class, drawn at random."""
    rng = np.random.default_rng([per_class, seed])
    known = np.zeros(len(y), dtype=bool)
    for c in range(y.max() + 1):
        known[rng.choice(np.flatnonzero(y == c), per_class, replace=False)] = True
    return known
