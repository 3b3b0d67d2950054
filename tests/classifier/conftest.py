"""Small problems of the classifier's tests."""

import numpy as np
import pytest


@pytest.fixture
def three_blobs():
    """90 samples of three groups: features, all labels, and codes of which the first 30 are known."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = (np.eye(3, 6)[y] * 4 + rng.normal(size=(90, 6))).astype(np.float32)
    return X, y, np.where(np.arange(90) < 30, y, -1)
