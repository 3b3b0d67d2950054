"""Ranked lists and graphs come back from their files, and what is none is refused with one sentence."""

import numpy as np
import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.graph import knn_graph, ranked_lists
from grande_gnn.graph.graph_files import load_graph, load_lists, save_graph, save_lists

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)


def test_lists_and_graph_come_back(tmp_path):
    lists, graph = ranked_lists(X, 4), knn_graph(X, 3)
    save_lists(tmp_path / "l.npz", lists)
    save_graph(tmp_path / "g.npz", graph)
    np.testing.assert_array_equal(load_lists(tmp_path / "l.npz"), lists)
    again = load_graph(tmp_path / "g.npz")
    np.testing.assert_array_equal(again.indptr, graph.indptr)
    np.testing.assert_array_equal(again.indices, graph.indices)


def test_a_one_sided_graph_without_loops_is_completed(tmp_path):
    np.savez(tmp_path / "g.npz", indptr=[0, 1, 1, 1], indices=[2])
    dense = load_graph(tmp_path / "g.npz").to_scipy(int).toarray()
    assert dense.tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


@pytest.mark.parametrize("load", [load_lists, load_graph])
def test_another_file_is_refused_by_name(tmp_path, load):
    np.savez(tmp_path / "f.npz", features=X)
    with pytest.raises(FileFormatError, match=r"f\.npz has no array .*; got features"):
        load(tmp_path / "f.npz")
    with pytest.raises(FileFormatError, match="no such"):
        load(tmp_path / "absent.npz")


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [
        (3, [0]),  # not a list at all
        ([], []),
        ([0], []),
        ([0, 1, 1], [7]),
        ([0, 5], [0]),
        ([1, 0, 1], [0]),
        ([0, 1, 2], [0]),  # too few indices
        ([0, 1, 2], [0, 7]),  # a node that is not there
        ([0, 1, 2], [0, -1]),
        ([1, 1, 2], [0, 1]),
        ([0, 2, 1], [0, 1]),  # falling
        ([0.0, 1.0, 2.0], [0, 1]),
        ([0, 1, 2], [0.5, 1.5]),
        ([[0, 1], [1, 2]], [0, 1]),
        ([0, 1, 2], [[0, 1]]),
    ],
)
def test_a_graph_that_is_none(tmp_path, indptr, indices):
    np.savez(tmp_path / "g.npz", indptr=np.array(indptr), indices=np.array(indices))
    with pytest.raises(
        FileFormatError,
        match=r"g\.npz(: '.*' must be a list of integers| does not hold a square CSR graph).*; got",
    ):
        load_graph(tmp_path / "g.npz")


@pytest.mark.parametrize("dtype", [np.uint64, np.uint8, np.int16, ">i4"])
def test_a_graph_of_other_integers(tmp_path, dtype):
    np.savez(tmp_path / "g.npz", indptr=np.array([0, 1, 2, 2], dtype), indices=np.array([1, 2], dtype))
    assert load_graph(tmp_path / "g.npz").degree.tolist() == [2, 3, 2]


def test_an_edge_given_256_times_is_an_edge(tmp_path):
    np.savez(tmp_path / "g.npz", indptr=[0, 256, 256], indices=np.ones(256, dtype=int))
    assert load_graph(tmp_path / "g.npz").degree.tolist() == [2, 2]


def test_a_graph_without_edges(tmp_path):
    np.savez(tmp_path / "g.npz", indptr=[0, 0, 0], indices=np.array([], dtype=int))
    assert load_graph(tmp_path / "g.npz").degree.tolist() == [1, 1]


def test_lists_that_are_none(tmp_path):
    np.savez(tmp_path / "l.npz", lists=np.array([[1, 0], [0, 1]]))
    with pytest.raises(FileFormatError, match=r"l\.npz: row i of ranked lists must start with i"):
        load_lists(tmp_path / "l.npz")
