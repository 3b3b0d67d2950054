"""Ranked lists and graphs come back from their files, and what is none is refused with one sentence."""

import numpy as np
import pytest
import scipy.sparse as sp

from grande_gnn.errors import FileFormatError, InvalidInputError
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


def dense(graph):
    return graph.to_scipy(int).toarray().tolist()


TRIANGLE_AND_ONE = [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]]
"""Three nodes joined to each other, and one without edges."""


@pytest.mark.parametrize(
    "edges",
    [
        "source,target\n0,1\n1,2\n2,0\n",  # directions by union
        "source,target\n0,1\n1,0\n0,1\n1,2\n0,2\n",  # parallel edges count once
        "source,target\n0,0\n0,1\n1,2\n2,0\n2,2\n2,2\n",  # loops are there anyway
        "source,target,weight\n0,1,2\n1,2,2\n2,0,2\n3,0,0\n",  # equal weights say nothing; 0 is no edge
        "a,b\nb,c\nc,a\n",  # names
    ],
)
def test_a_table_of_edges_is_completed(tmp_path, edges):
    (tmp_path / "edges.csv").write_text(edges)
    assert dense(load_graph(tmp_path / "edges.csv", names=["a", "b", "c", "d"])) == TRIANGLE_AND_ONE


def test_weights_are_refused_unless_they_are_ignored(tmp_path):
    (tmp_path / "edges.csv").write_text("0,1,0.5\n1,2,3\n0,2,1\n3,1,0\n")
    matrix = sp.csr_matrix(([0.5, 3, 1, 0], ([0, 1, 0, 3], [1, 2, 2, 1])), shape=(4, 4))
    sp.save_npz(tmp_path / "scipy.npz", matrix)
    np.savez(tmp_path / "edges.npz", edges=[[0, 1], [1, 2], [0, 2], [3, 1]], weights=[0.5, 3, 1, 0])
    for name in ("edges.csv", "scipy.npz", "edges.npz"):
        with pytest.raises(
            InvalidInputError, match=rf"{name} have weights.*--ignore-weights.*; got weights from 0\.5 to 3$"
        ):
            load_graph(tmp_path / name, n_nodes=4)
        assert dense(load_graph(tmp_path / name, n_nodes=4, ignore_weights=True)) == TRIANGLE_AND_ONE


def test_negative_weights_are_weights(tmp_path):
    np.savez(tmp_path / "g.npz", edges=[[0, 1]], weights=[-1.0])
    with pytest.raises(InvalidInputError, match=r"got weights from -1 to -1"):
        load_graph(tmp_path / "g.npz", n_nodes=2)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"edges": [[0, 1, 2]]}, r"two columns; got shape \(1, 3\)"),
        ({"edges": [[0, 4]]}, r"edges must join nodes 0 to 3; got numbers from 0 to 4"),
        ({"edges": [[-1, 0]]}, r"edges must join nodes 0 to 3"),
        ({"edges": [[0, 1]], "weights": [1.0, 2.0]}, r"one finite number per edge: 1 edges; got 2 weights"),
        ({"edges": [[0, 1]], "weights": [np.nan]}, r"got 1 weights, 1 of them not finite"),
        ({"edges": np.array([[0, 2**63]], dtype=np.uint64)}, r"edges must join nodes 0 to 3"),
    ],
)
def test_edges_that_are_none(tmp_path, arrays, message):
    np.savez(tmp_path / "g.npz", **{name: np.asarray(array) for name, array in arrays.items()})
    with pytest.raises(FileFormatError, match=rf"g\.npz.*{message}"):
        load_graph(tmp_path / "g.npz", n_nodes=4)


def test_edges_alone_do_not_tell_the_number_of_nodes(tmp_path):
    np.savez(tmp_path / "g.npz", edges=[[0, 1]])
    (tmp_path / "g.csv").write_text("0,1")
    for name in ("g.npz", "g.csv"):
        with pytest.raises(InvalidInputError, match="pass n_nodes or names"):
            load_graph(tmp_path / name)
    with pytest.raises(FileFormatError, match="no such graph file"):
        load_graph(tmp_path / "absent.csv", n_nodes=2)
