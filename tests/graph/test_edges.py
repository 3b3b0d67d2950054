"""kNN (union) and reciprocal kNN edges from their set definitions."""

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import knn_edges, knn_graph, ranked_lists, reciprocal_edges, reciprocal_knn_graph

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
FROM_LISTS = {"knn": knn_edges, "reciprocal": reciprocal_edges}
FROM_FEATURES = {"knn": knn_graph, "reciprocal": reciprocal_knn_graph}


def by_definition(lists, k, kind):
    """Edges as Python sets; every node also has itself."""
    near = [set(row[:k].tolist()) for row in lists]
    n = len(lists)
    joined = (lambda a, b: a or b) if kind == "knn" else (lambda a, b: a and b)
    return [[int(i == j or joined(j in near[i], i in near[j])) for j in range(n)] for i in range(n)]


@pytest.mark.parametrize("kind", FROM_LISTS)
@pytest.mark.parametrize("k", [1, 2, 5, 39, 40, 99])
def test_equals_the_definition(kind, k):
    lists = ranked_lists(X, 40)
    expected = by_definition(lists, k, kind)
    assert FROM_LISTS[kind](lists, k).to_scipy(int).toarray().tolist() == expected
    assert FROM_FEATURES[kind](X, k).to_scipy(int).toarray().tolist() == expected


@pytest.mark.parametrize("kind", FROM_LISTS)
def test_k_counts_the_sample_itself_unless_told(kind):
    lists = ranked_lists(X, 12)
    for build in (
        lambda k, **o: FROM_LISTS[kind](lists, k, **o),
        lambda k, **o: FROM_FEATURES[kind](X, k, **o),
    ):
        np.testing.assert_array_equal(build(5, include_self=False).indices, build(6).indices)


def test_the_default_k_is_forty():
    points = np.random.default_rng(1).normal(size=(100, 3))
    np.testing.assert_array_equal(
        reciprocal_knn_graph(points).indices, reciprocal_knn_graph(points, 40).indices
    )


def test_a_reciprocal_edge_is_a_knn_edge_and_no_node_exceeds_k():
    reciprocal, knn = reciprocal_knn_graph(X, 6), knn_graph(X, 6)
    assert reciprocal.to_scipy(int).multiply(knn.to_scipy(int)).sum() == reciprocal.n_edges < knn.n_edges
    assert reciprocal.degree.max() <= 6 <= knn.degree.min()


@pytest.mark.parametrize("build", FROM_FEATURES.values())
def test_one_sample_and_one_neighbor_give_loops_only(build):
    assert build([[1.0]], 40).n_edges == 1
    assert build(X, 1).n_edges == len(X)


@pytest.mark.parametrize("build", FROM_FEATURES.values())
@pytest.mark.parametrize("k", [0, -1, 2.5, "5", None])
def test_refuses_k(build, k):
    for include_self in (True, False):
        with pytest.raises(InvalidInputError, match="n_neighbors must be an integer of at least 1; got"):
            build(X, k, include_self=include_self)


@pytest.mark.parametrize("build", FROM_LISTS.values())
def test_refuses_lists_that_do_not_start_with_the_sample(build):
    with pytest.raises(InvalidInputError, match="must start with i itself"):
        build(np.array([[1, 0], [1, 0]]), 2)


@pytest.mark.parametrize("kind", ["knn", "reciprocal"])
def test_forty_entries_of_each_list_count_unless_another_number_is_asked_for(kind):
    features = np.random.default_rng(1).normal(size=(90, 4)).astype(np.float32)
    lists = ranked_lists(features, 60)
    expected = FROM_LISTS[kind](lists, 40)
    for graph in (FROM_LISTS[kind](lists), FROM_FEATURES[kind](features)):
        np.testing.assert_array_equal(graph.to_scipy().toarray(), expected.to_scipy().toarray())
