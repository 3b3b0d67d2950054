"""The greedy choice is the one that brute force makes."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from grande_gnn.labelling.strategies.greedy import greedy_cover


def brute_force(covers, weights, known, fading):
    """The definition: all gains anew in every round."""
    weight = weights.copy()
    for row in np.flatnonzero(known):
        weight[covers[row] > 0] *= fading
    order, left = [], [i for i in range(len(weights)) if not known[i]]
    while left:
        gains = [weight[covers[i] > 0].sum() for i in left]
        if max(gains) <= 1e-9:
            weight = weights.copy()
            gains = [weight[covers[i] > 0].sum() for i in left]
        best = left.pop(int(np.argmax(np.round(gains, 9))))
        order.append(best)
        weight[covers[best] > 0] *= fading
    return order


@pytest.mark.parametrize("fading", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("n_known", [0, 4])
def test_it_is_what_brute_force_finds(fading, n_known):
    rng = np.random.default_rng(7)
    covers = ((rng.random((25, 25)) < 0.2) | np.eye(25, dtype=bool)).astype(float)
    weights, known = rng.random(25) + 0.1, np.zeros(25, dtype=bool)
    known[rng.choice(25, n_known, replace=False)] = True
    found = greedy_cover(csr_array(covers), weights, known, fading=fading).tolist()
    assert found == brute_force(covers, weights, known, fading)


def test_the_first_n_are_the_same_and_all_others_follow():
    rng = np.random.default_rng(1)
    covers = csr_array(((rng.random((40, 40)) < 0.1) | np.eye(40, dtype=bool)).astype(float))
    known = np.arange(40) < 5
    all_of_them = greedy_cover(covers, np.ones(40), known, fading=0.1)
    some = greedy_cover(covers, np.ones(40), known, fading=0.1, n=6)
    assert some[:6].tolist() == all_of_them[:6].tolist()
    assert sorted(some) == sorted(all_of_them) == list(range(5, 40))


def test_what_labels_cover_comes_last():
    two_groups = csr_array(np.kron(np.eye(2), np.ones((3, 3))))
    known = np.array([True, False, False, False, False, False])
    assert greedy_cover(two_groups, np.ones(6), known, fading=0.1)[0] == 3


def test_heavy_images_come_first():
    weights = np.array([1.0, 3.0, 2.0])
    nothing = np.zeros(3, dtype=bool)
    assert greedy_cover(csr_array(np.eye(3)), weights, nothing, fading=0.0).tolist() == [1, 2, 0]
