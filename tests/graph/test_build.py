"""Whatever the user has becomes the same Graph."""

import numpy as np
import pytest
import scipy.sparse as sp

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import (
    Graph,
    Neighbors,
    build_graph,
    dgcg_graph,
    knn_graph,
    list_length,
    ranked_lists,
    reciprocal_knn_graph,
)

X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
BUILDERS = {"reciprocal": reciprocal_knn_graph, "knn": knn_graph, "dgcg": dgcg_graph}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_name_and_its_ranked_lists_give_the_same_graph(name):
    expected = BUILDERS[name](X, 8)
    lists = ranked_lists(X, list_length(name, 8))
    for graph in (build_graph(name, X, 8), build_graph(lists, X, 8, kind=name)):
        np.testing.assert_array_equal(graph.indptr, expected.indptr)
        np.testing.assert_array_equal(graph.indices, expected.indices)


def test_a_matrix_or_a_graph_is_taken_as_it_is():
    graph = knn_graph(X, 4)
    assert build_graph(graph, X) is graph
    np.testing.assert_array_equal(build_graph(graph.to_scipy(), X).indices, graph.indices)


def test_a_directed_matrix_is_symmetrised():
    graph = build_graph(sp.csr_matrix(np.triu(np.ones((3, 3)), 1)), X[:3])
    assert graph.degree.tolist() == [3, 3, 3]


def test_neighbors_are_searched_once_for_several_graphs():
    neighbors = Neighbors(X)
    neighbors.lists(30)
    for name in BUILDERS:
        np.testing.assert_array_equal(build_graph(name, neighbors, 8).indices, BUILDERS[name](X, 8).indices)
    assert neighbors.length == 30


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nearest", "graph must be one of reciprocal, knn, dgcg, dgcg-self, mgcn; got 'nearest'"),
        (None, "got NoneType"),
        (np.zeros((30, 30)), "got ndarray"),
        (Graph.from_edges([], [], 3), "30 samples; got 3 nodes"),
        (sp.eye(4), "30 samples; got 4 nodes"),
        (np.arange(4)[:, None], "30 samples; got 4 rows"),
    ],
)
def test_refuses(source, words):
    with pytest.raises(InvalidInputError, match=words):
        build_graph(source, X)


def test_refuses_an_unknown_kind():
    with pytest.raises(InvalidInputError, match="graph must be one of"):
        build_graph(ranked_lists(X, 5), X, kind="nearest")
