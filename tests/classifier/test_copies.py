"""Copies are found where two samples are far nearer to each other than samples are to each other."""

import numpy as np
import pytest

from grande_gnn.classifier.copies import find_copies
from grande_gnn.graph import Neighbors


@pytest.fixture
def pictures():
    return np.random.default_rng(0).normal(size=(200, 16)).astype(np.float32)


def test_different_samples_are_no_copies(pictures):
    assert find_copies(Neighbors(pictures)).tolist() == list(range(200))


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_planted_copies_are_found_and_named_by_their_first(pictures, noise):
    rng = np.random.default_rng(1)
    copied = pictures[[3, 50, 50]] + noise * rng.normal(size=(3, 16))
    expected = [*range(200), 3, 50, 50]
    X = np.vstack([pictures, copied])
    assert find_copies(Neighbors(X)).tolist() == expected
    assert find_copies(Neighbors(100 * X)).tolist() == expected  # whatever the scale


def test_a_dense_group_is_not_a_group_of_copies(pictures):
    dense = pictures[:20] * 0.1 + 5
    X = np.vstack([pictures, dense])
    assert find_copies(Neighbors(X)).tolist() == list(range(220))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_samples(n):
    X = np.arange(n, dtype=np.float32)[:, None] ** 2
    assert find_copies(Neighbors(X)).tolist() == list(range(n))


def test_if_most_samples_are_copies_only_equal_ones_are():
    X = np.repeat(np.arange(6.0), 2)[:, None]
    assert find_copies(Neighbors(X)).tolist() == np.repeat([0, 2, 4, 6, 8, 10], 2).tolist()


def test_copies_must_be_much_nearer_for_both():
    """For one of two samples the other is much nearer than its fifth neighbor, for the other it is not quite."""
    near = [[0, 0, 0], [-1, 0, 0], *([3.5, a, b] for a in (-0.3, 0.3) for b in (-0.3, 0.3))]
    far = [[100 * m, 0, 0] for m in range(1, 30)]
    groups = find_copies(Neighbors(np.array(near + far, dtype=np.float32)))
    assert groups[0] != groups[1]


def test_any_number_of_equal_samples_is_one_group(pictures):
    X = np.vstack([pictures, np.repeat(pictures[7:8], 20, axis=0)])
    assert find_copies(Neighbors(X)).tolist() == [*range(200), *[7] * 20]


def test_copies_are_searched_once_for_the_same_neighbors(monkeypatch):
    from grande_gnn.classifier import copies

    neighbors = Neighbors(np.arange(20.0)[:, None])
    found = find_copies(neighbors)
    monkeypatch.setattr(copies, "_groups", lambda neighbors: pytest.fail("they are known"))
    assert find_copies(neighbors) is found
