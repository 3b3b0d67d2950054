"""Initial weights follow the distribution of a linear layer and depend on (seed, repetition, fold) alone."""

import numpy as np
import pytest

from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.initial import initial_weights

LABELS = np.array([0, 1, -1])
LAYERS = [("1", 400, 100), ("2", 100, 30)]


def weights(repetition=0, fold=0, degree=0.2, layers=LAYERS, seed=0):
    (drawn,) = initial_weights([Replica(LABELS, degree, repetition, fold)], layers, Settings(seed=seed))
    return drawn


def flat(drawn):
    return np.concatenate([array.ravel() for array in drawn.values()])


def test_the_distribution_is_that_of_a_linear_layer():
    drawn = weights()
    assert {name: array.shape for name, array in drawn.items()} == {
        "weight1": (400, 100), "bias1": (100,), "weight2": (100, 30), "bias2": (30,),
    }  # fmt: skip
    for name, values in drawn.items():
        bound = 1 / np.sqrt(400 if name.endswith("1") else 100)
        assert values.dtype == np.float32
        assert np.abs(values).max() <= bound
        if values.size > 1000:
            assert values.mean() == pytest.approx(0, abs=bound / 20)
            assert values.std() == pytest.approx(bound / np.sqrt(3), rel=0.05)


def test_they_depend_on_seed_repetition_and_fold_only():
    np.testing.assert_array_equal(flat(weights(1, 2)), flat(weights(1, 2, "centrality")))
    different = [flat(weights(r, f, seed=s)) for r, f, s in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]]
    for a in range(4):
        for b in range(a):
            assert np.isclose(different[a], different[b]).mean() < 0.01


def test_replicas_that_differ_in_their_degree_share_one_draw():
    replicas = [Replica(LABELS, degree, r) for degree in (0.2, 0.5) for r in (0, 1)]
    drawn = initial_weights(replicas, LAYERS, Settings())
    assert drawn[0] is drawn[2]
    assert drawn[1] is drawn[3]
    assert drawn[0] is not drawn[1]
