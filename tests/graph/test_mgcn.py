"""Manifold-GCN's graph is the reciprocal graph of re-ranked lists."""

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import mgcn_graph, ranked_lists, reciprocal_edges
from grande_gnn.graph.mgcn import mgcn_edges
from grande_gnn.graph.rerank import RERANKERS

X = np.random.default_rng(0).normal(size=(450, 4)).astype(np.float32)


@pytest.mark.parametrize("name", RERANKERS)
def test_it_is_the_reciprocal_graph_of_the_re_ranked_lists(name):
    expected = reciprocal_edges(RERANKERS[name](ranked_lists(X, 60)), 12)
    graph = mgcn_graph(X, 12, reranker=name, length=60)
    np.testing.assert_array_equal(graph.indices, expected.indices)


def test_the_defaults_are_lhrr_over_400_entries():
    expected = reciprocal_edges(RERANKERS["lhrr"](ranked_lists(X, 400)), 40)
    np.testing.assert_array_equal(mgcn_graph(X).indices, expected.indices)
    np.testing.assert_array_equal(mgcn_edges(ranked_lists(X, 400)).indices, expected.indices)
    assert mgcn_graph(X, length=100).n_edges != expected.n_edges
    assert mgcn_graph(X, reranker="cprr").n_edges != expected.n_edges


def test_refuses_an_unknown_re_ranker():
    with pytest.raises(InvalidInputError, match="reranker must be one of lhrr"):
        mgcn_graph(X, reranker="none")
