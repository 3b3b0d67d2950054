"""The Graph type: symmetric by union, binary, exactly one loop a node, rows sorted."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph


def assert_canonical(graph):
    dense = graph.to_scipy(int).toarray()
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_array_equal(dense.diagonal(), 1)
    assert set(np.unique(dense)) <= {0, 1}
    assert dense.sum() == graph.n_edges == len(graph.indices) == graph.indptr[-1]
    for a, b in zip(graph.indptr, graph.indptr[1:], strict=False):
        assert (np.diff(graph.indices[a:b]) > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_any_edges_become_canonical(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    sources, targets = rng.integers(0, n, size=(2, int(rng.integers(0, 30))))
    graph = Graph.from_edges(sources, targets, n)
    assert_canonical(graph)
    expected = np.eye(n, dtype=int)
    for i, j in zip(sources, targets, strict=True):
        expected[i, j] = expected[j, i] = 1
    np.testing.assert_array_equal(graph.to_scipy(int).toarray(), expected)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_matrix, sp.csc_array, sp.lil_matrix])
def test_a_matrix_gives_its_pattern(kind):
    weights = np.array([[5.0, 0.0, 0.3], [0.0, 0.0, 0.0], [0.0, -2.0, 7.0]])
    graph = Graph.from_scipy(kind(weights))
    assert_canonical(graph)
    assert graph.to_scipy(int).toarray().tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 1]]


def test_opposite_weights_do_not_cancel():
    assert Graph.from_scipy(sp.csr_matrix([[0.0, 1.0], [-1.0, 0.0]])).n_edges == 4


def test_a_stored_zero_is_no_edge():
    matrix = sp.csr_matrix((np.array([0.0, 1.0]), ([0, 1], [1, 2])), shape=(3, 3))
    assert Graph.from_scipy(matrix).degree.tolist() == [1, 2, 2]


@pytest.mark.parametrize("times", [2, 128, 256, 512])
def test_an_edge_given_many_times_is_one_edge(times):
    assert Graph.from_edges([0] * times, [1] * times, 2).degree.tolist() == [2, 2]


def test_the_given_matrix_is_left_alone():
    matrix = sp.csr_matrix(np.array([[0.0, 3.0], [0.0, 0.0]]))
    Graph.from_scipy(matrix)
    assert matrix.toarray().tolist() == [[0, 3], [0, 0]]


def test_degree_rows_and_edges_agree(tiny):
    graph = tiny.graph
    assert_canonical(graph)
    np.testing.assert_array_equal(graph.degree, tiny.dense.sum(1))
    q, i = graph.edges()
    assert q.dtype == i.dtype == torch.int64
    np.testing.assert_array_equal(np.stack([q, i]), np.stack(np.nonzero(tiny.dense)))
    np.testing.assert_array_equal(graph.rows, q)
    assert graph.edges()[0] is q  # kept, not built again
    assert f"n_nodes={graph.n_nodes}" in repr(graph)


def test_reached_is_the_connected_component():
    graph = Graph.from_edges([0, 1, 3], [1, 2, 4], 6)
    marked = np.array([False, False, True, False, False, False])
    assert graph.reached_from(marked).tolist() == [True, True, True, False, False, False]
    assert not graph.reached_from(np.zeros(6, dtype=bool)).any()
    assert graph.reached_from(np.ones(6, dtype=bool)).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1], [1], 2), r"two lists of equal length: sources and targets; got shapes \(2,\) and \(1,\)"),
        (([[0]], [[1]], 2), "two lists of equal length"),
        (([0], [2], 2), "must join nodes 0 to 1; got numbers from 0 to 2"),
        (([-1], [0], 2), "must join nodes 0 to 1; got numbers from -1"),
        (([], [], 0), "n_nodes must be an integer of at least 1; got 0"),
        (([0.5], [1.0], 2), "edges must be integers; got"),
    ],
)
def test_refuses_edges(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        Graph.from_edges(*arguments)


@pytest.mark.parametrize("matrix", [np.eye(3), sp.csr_matrix((2, 3)), sp.csr_matrix((0, 0)), "graph", None])
def test_refuses_what_is_no_square_sparse_matrix(matrix):
    with pytest.raises(InvalidInputError, match="; got"):
        Graph.from_scipy(matrix)
