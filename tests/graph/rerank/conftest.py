"""What the re-rankers' tests share: small lists, and sorting as the definitions say it, on dense matrices."""

from types import SimpleNamespace

import numpy as np
import pytest

from grande_gnn.graph import ranked_lists

N = 45


def features(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) + 2 * rng.normal(size=(4, 4))[np.arange(n) % 4]


@pytest.fixture(scope="session", params=[(0, 30), (1, 45), (2, 18)], ids=["30", "all", "18"])
def lists(request):
    """Ranked lists of 45 samples, cut at 30, at 18, and not at all."""
    seed, length = request.param
    return ranked_lists(features(seed=seed), length)


def digits(x):
    """Ties in exact arithmetic are ties here too."""
    return float(f"{x:.10e}")


def sort_dense(lists, matrix):
    """Insertion order kept on ties, then the sample itself swapped to the front."""
    out = []
    for i, row in enumerate(lists.tolist()):
        row = sorted(row, key=lambda j, i=i: -digits(matrix[i, j]))
        here = row.index(i)
        row[0], row[here] = row[here], row[0]
        out.append(row)
    return np.array(out)


def normalize_dense(lists, f):
    matrix = np.zeros((len(lists), len(lists)))
    for i, row in enumerate(lists):
        for pos, j in enumerate(row):
            matrix[i, j] += f(pos)
            matrix[j, i] += f(pos)
    return sort_dense(lists, matrix)


@pytest.fixture(scope="session")
def dense():
    """``features``, ``digits``, ``sort`` and ``normalize`` for definitions on dense matrices."""
    return SimpleNamespace(features=features, digits=digits, sort=sort_dense, normalize=normalize_dense)
