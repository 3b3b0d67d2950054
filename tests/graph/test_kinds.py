"""One registry of graphs: every kind builds from ranked lists, and a new one is one line."""

import numpy as np
import pytest

from grande_gnn.graph import (
    GRAPHS,
    Graph,
    GraphKind,
    build_graph,
    dgcg_graph,
    knn_graph,
    list_length,
    mgcn_graph,
    ranked_lists,
    reciprocal_knn_graph,
    register_graph,
)
from grande_gnn.graph.dgcg import N_CANDIDATES
from grande_gnn.graph.kinds import public_graphs

X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
FUNCTIONS = {
    "reciprocal": reciprocal_knn_graph,
    "knn": knn_graph,
    "dgcg": dgcg_graph,
    "dgcg-self": lambda X, k: dgcg_graph(X, k, count_self=True),
    "mgcn": mgcn_graph,
}


def test_every_kind_has_a_function_here():
    assert set(GRAPHS) == set(FUNCTIONS)
    assert public_graphs() == ["reciprocal", "knn", "dgcg"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_kind_equals_its_function(name):
    expected = FUNCTIONS[name](X, 8)
    graph = GRAPHS[name](ranked_lists(X, GRAPHS[name].length(8)), 8)
    np.testing.assert_array_equal(graph.indptr, expected.indptr)
    np.testing.assert_array_equal(graph.indices, expected.indices)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_entries_beyond_what_a_kind_needs_change_nothing(name):
    X = np.random.default_rng(1).normal(size=(450, 3)).astype(np.float32)
    kind = GRAPHS[name]
    whole, cut = ranked_lists(X, 450), ranked_lists(X, kind.length(8))
    np.testing.assert_array_equal(kind(whole, 8).indices, kind(cut, 8).indices)


def test_list_lengths():
    assert list_length("reciprocal", 40) == 40
    assert list_length("dgcg", 40) == GRAPHS["dgcg-self"].list_length == N_CANDIDATES
    assert list_length("dgcg", 300) == 300
    assert list_length("mgcn", 40) == 400


def test_a_new_kind_is_one_registration(monkeypatch):
    monkeypatch.setattr("grande_gnn.graph.kinds.GRAPHS", GRAPHS)
    register_graph(
        GraphKind("chain", lambda lists, k: Graph.from_edges([0], [1], len(lists)), "two are joined")
    )
    try:
        assert build_graph("chain", X).n_edges == 62
        assert "chain" in public_graphs()
    finally:
        del GRAPHS["chain"]


@pytest.mark.parametrize("name", ["dgcg", "dgcg-self"])
def test_rank_correlations_have_as_many_candidates_as_there_are(name):
    many = np.random.default_rng(0).normal(size=(320, 3)).astype(np.float32)
    lists = ranked_lists(many, GRAPHS[name].length(300))
    graph = GRAPHS[name](lists, 300)
    np.testing.assert_array_equal(graph.indices, GRAPHS[name](lists, N_CANDIDATES).indices)
