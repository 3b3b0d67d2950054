"""Groups of samples as the situation of a strategy."""

import numpy as np
import pytest

from grande_gnn.graph import Neighbors
from grande_gnn.labelling.strategies import Situation


@pytest.fixture
def situation():
    """Makes groups of the given sizes far from each other: the situation and each sample's group."""

    def make(sizes, known=(), outliers=0, seed=0, **more):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(len(sizes)), sizes)
        X = 20 * np.eye(len(sizes))[group] + rng.normal(size=(len(group), len(sizes)))
        far = 300 * rng.normal(size=(outliers, len(sizes)))
        X = np.concatenate([X, far]).astype(np.float32)
        group = np.concatenate([group, np.full(outliers, -1)])
        is_known = np.zeros(len(X), dtype=bool)
        is_known[list(known)] = True
        return Situation(Neighbors(X, device="cpu"), is_known, **more), group

    return make
