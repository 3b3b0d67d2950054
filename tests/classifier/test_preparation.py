"""Whatever two choices share is made once, and nothing is shared that differs."""

import numpy as np
import pytest

from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.classifier.preparation import Choice, Preparation
from grande_gnn.classifier.tuning import FAVORITE, PAPER
from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine import Settings
from grande_gnn.graph import dgcg_graph, knn_graph, reciprocal_knn_graph

X = (np.random.default_rng(0).normal(size=(70, 5)) + 3).astype(np.float32)
SETTINGS = Settings(device="cpu")
OPEN = Choice("auto", "auto", "auto", "auto")


def test_open_fields_are_filled_and_fixed_ones_kept():
    assert OPEN.fill(PAPER) == PAPER
    assert Choice("knn", "auto", "auto", 0.7).fill(FAVORITE) == Choice("knn", 40, "center-l2", 0.7)
    assert OPEN.is_open
    assert not PAPER.is_open
    assert str(PAPER) == "graph=reciprocal, n_neighbors=40, normalize=none, sigma=0.2"


@pytest.mark.parametrize("normalize", ["none", "l2", "center-l2"])
@pytest.mark.parametrize(
    ("graph", "build"), [("reciprocal", reciprocal_knn_graph), ("knn", knn_graph), ("dgcg", dgcg_graph)]
)
@pytest.mark.parametrize("k", [5, 12])
def test_each_choice_gets_its_own_graph_whatever_was_asked_before(normalize, graph, build, k):
    preparation = Preparation(X, 3, SETTINGS)
    for choice in (
        Choice("knn", 5, "none", 0.2),
        Choice("reciprocal", 12, "l2", 0.2),
        Choice("dgcg", 8, "center-l2", 0.2),
    ):
        preparation.problem(choice)
    problem = preparation.problem(Choice(graph, k, normalize, 0.3))
    inputs = Normalizer.fit(X, normalize).transform(X)
    np.testing.assert_array_equal(problem.inputs, inputs)
    np.testing.assert_array_equal(problem.graph.indices, build(inputs, k).indices)
    assert problem.degree == Grande(0.3)


def test_graphs_neighbors_and_inputs_are_shared():
    preparation = Preparation(X, 3, SETTINGS)
    a, b = (preparation.problem(Choice("knn", 5, "l2", sigma)) for sigma in (0.2, 0.5))
    assert a.graph is b.graph
    assert a.inputs is b.inputs is preparation.neighbors(Choice("dgcg", 9, "l2", 0.2)).features


def test_expected_lists_are_searched_at_once():
    preparation = Preparation(X, 3, SETTINGS)
    short, long = Choice("knn", 5, "l2", 0.2), Choice("reciprocal", 30, "l2", 0.2)
    preparation.expect([short, long])
    assert preparation.neighbors(short).length == 30


def test_a_ready_graph_and_other_settings_are_taken():
    ready = knn_graph(X, 3)
    preparation = Preparation(X, 3, SETTINGS, None, "centrality", ready)
    preparation.expect([PAPER])
    problem = preparation.problem(PAPER, Settings(epochs=7))
    assert problem.graph is ready
    assert preparation.neighbors(PAPER).length == 0  # nothing had to be searched
    assert (problem.degree, problem.hidden, problem.settings.epochs) == (Centrality(), None, 7)
