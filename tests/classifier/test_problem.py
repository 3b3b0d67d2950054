"""A learning problem trains on whatever labels it is given, by the engine's own rules."""

import numpy as np
import pytest

from grande_gnn.classifier import LabelSet, LearningProblem
from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.graph import reciprocal_knn_graph

SETTINGS = Settings(device="cpu", epochs=20, seed=3)


@pytest.fixture
def problem(three_blobs):
    X, _, _ = three_blobs
    return LearningProblem(X, reciprocal_knn_graph(X, 10), 3, Grande(0.5), SETTINGS, 8)


def expected(problem, *replicas):
    outcomes = train(problem.inputs, problem.graph, replicas, 3, SETTINGS, keep_models=True)
    return [outcome.logits for outcome in outcomes]


def test_a_bare_array_is_the_fold_of_its_position(three_blobs, problem):
    _, _, codes = three_blobs
    outcomes = problem.train([codes, codes], keep_models=True)
    wanted = expected(problem, Replica(codes, Grande(0.5), 0, 0, 8), Replica(codes, Grande(0.5), 0, 1, 8))
    for outcome, logits in zip(outcomes, wanted, strict=True):
        np.testing.assert_array_equal(outcome.logits, logits)
    assert not np.allclose(*wanted)


def test_a_label_set_may_have_its_own_degree_fold_and_repetition(three_blobs, problem):
    _, _, codes = three_blobs
    (outcome,) = problem.train([LabelSet(codes, 2, 1, Centrality())], keep_models=True)
    (logits,) = expected(problem, Replica(codes, Centrality(), 1, 2, 8))
    np.testing.assert_array_equal(outcome.logits, logits)


def test_label_weights_reach_the_training(three_blobs, problem):
    _, _, codes = three_blobs
    weights = np.random.default_rng(0).uniform(0.1, 5, 90)
    (outcome,) = problem.train([LabelSet(codes, weights=weights)], keep_models=True)
    (logits,) = expected(problem, Replica(codes, Grande(0.5), 0, 0, 8, weights))
    np.testing.assert_array_equal(outcome.logits, logits)
    assert not np.allclose(logits, expected(problem, Replica(codes, Grande(0.5), 0, 0, 8))[0], atol=1e-2)


def test_progress_counts_epochs_of_all_trainings_and_models_are_kept_only_on_request(three_blobs, problem):
    _, _, codes = three_blobs
    steps = []
    outcomes = problem.train([codes, codes, codes], progress=steps.append)
    assert sum(steps) == 60
    assert [outcome.logits for outcome in outcomes] == [None] * 3
