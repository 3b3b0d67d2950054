"""The density-guided correlation graph against its definition, step by step."""

import logging

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph, dgcg_edges, dgcg_graph, rank_correlation, ranked_lists
from grande_gnn.graph.correlation import jaccard
from grande_gnn.graph.dgcg import THRESHOLDS


def blobs(n, seed=0, d=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4 * rng.normal(size=(10, d))[np.arange(n) % 10]


def definition(lists, depth, count_self=False):
    """The published procedure on Python lists: scores, ten bisections, union."""
    n, width = len(lists), min(200, len(lists))
    table = rank_correlation(lists, depth)
    scores = {(i, j): table[i, c] for i in range(n) for c, j in enumerate(lists[i].tolist())}
    low, cut, high = 0.0, 0.5, 1.0
    for _ in range(10):
        edges = [(i, j) for (i, j), s in scores.items() if s > cut and (count_self or i != j)]
        density = len(edges) / (n * width)
        if 0.03 <= density <= 0.04:
            break
        low, high = (low, cut) if density < 0.03 else (cut, high)
        cut = (low + high) / 2
    edges = {(i, j) for (i, j), s in scores.items() if s > cut}
    matrix = np.eye(n, dtype=int)
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


@pytest.mark.parametrize("count_self", [False, True])
@pytest.mark.parametrize(("n", "length"), [(60, 60), (90, 50), (250, 200)])
def test_equals_the_definition(n, length, count_self):
    lists = ranked_lists(blobs(n), length)
    graph = dgcg_edges(lists, depth=20, count_self=count_self)
    np.testing.assert_array_equal(graph.to_scipy(int).toarray(), definition(lists, 20, count_self=count_self))


def test_only_the_first_200_entries_are_candidates():
    features = blobs(300)
    long, short = ranked_lists(features, 300), ranked_lists(features, 200)
    np.testing.assert_array_equal(dgcg_edges(long).indices, dgcg_edges(short).indices)


def test_counting_self_leaves_fewer_edges():
    lists = ranked_lists(blobs(400), 200)
    counts = [dgcg_edges(lists, threshold="exact", count_self=flag).n_edges for flag in (True, False)]
    assert counts[0] < counts[1]


def test_an_attainable_density_is_attained():
    lists = ranked_lists(blobs(400), 200)
    scores = rank_correlation(lists, 40)
    for search in THRESHOLDS.values():
        cut = search(scores, False)
        assert 0.03 <= (scores[:, 1:] > cut).sum() / (400 * 200) <= 0.04


def test_exact_is_nearest_the_interval_of_all_thresholds():
    # Ten samples have few scores, and bisection misses every one of them.
    scores = rank_correlation(ranked_lists(blobs(10), 10), 5, measure="jaccard")
    cut = THRESHOLDS["exact"](scores, False)
    miss = [abs((scores[:, 1:] > other).sum() / 100 - 0.035) for other in np.linspace(0, 1, 1001)]
    assert abs((scores[:, 1:] > cut).sum() / 100 - 0.035) == pytest.approx(min(miss))


def exact_definition(lists, scores):
    """The directed edges of ``threshold="exact"``: scores above the best cut, and one more for each sample alone."""
    n, width = scores.shape
    pairs = [(i, j, scores[i, c]) for i in range(n) for c, j in enumerate(lists[i].tolist()) if c > 0]
    cuts = sorted({0.0, *(s for _, _, s in pairs)})
    miss = [abs(sum(s > cut for _, _, s in pairs) / (n * min(200, n)) - 0.035) for cut in cuts]
    cut = cuts[miss.index(min(miss))]
    edges = {(i, j) for i, j, s in pairs if s > cut}
    for i in set(range(n)) - {node for edge in edges for node in edge}:
        best = max(range(1, width), key=lambda c: scores[i, c])
        edges.add((i, int(lists[i, best])))
    matrix = np.eye(n, dtype=int)
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


@pytest.mark.parametrize("correlation", ["rbo", "jaccard"])
@pytest.mark.parametrize(("n", "length"), [(2, 2), (3, 3), (7, 7), (30, 30), (45, 45), (60, 4)])
def test_exact_equals_the_definition(n, length, correlation):
    lists = ranked_lists(blobs(n), length)
    depth = min(10, length)
    scores = rank_correlation(lists, depth, measure=correlation)
    graph = dgcg_edges(lists, depth=depth, correlation=correlation, threshold="exact")
    np.testing.assert_array_equal(graph.to_scipy(int).toarray(), exact_definition(lists, scores))


@pytest.mark.parametrize("seed", range(4))
def test_a_sample_that_another_one_chose_is_not_alone(seed, monkeypatch):
    """In short lists a sample may be chosen by one that is not in its own list; it then gets no further edge."""
    rng = np.random.default_rng(seed)
    n, length = 40, 4
    lists = np.array([[i, *rng.permutation(np.delete(np.arange(n), i))[: length - 1]] for i in range(n)])
    table = np.triu(rng.random((n, n)))
    scores = np.take_along_axis(table + table.T, lists, axis=1)  # each pair has one score, in both directions
    monkeypatch.setattr("grande_gnn.graph.dgcg.rank_correlation", lambda *_, **__: scores)
    graph = dgcg_edges(lists, threshold="exact")
    np.testing.assert_array_equal(graph.to_scipy(int).toarray(), exact_definition(lists, scores))


@pytest.mark.parametrize(("score", "joined"), [(2**-10.5, True), (2**-11.5, False)])
def test_ten_bisections_end_at_half_of_a_thousandth(score, joined, monkeypatch):
    """Where all scores are equal no cut gives the wanted density, so the search goes down to 2⁻¹¹."""
    lists = ranked_lists(blobs(30), 30)
    monkeypatch.setattr(
        "grande_gnn.graph.dgcg.rank_correlation", lambda lists, *_, **__: np.full(lists.shape, score)
    )
    assert dgcg_edges(lists).n_edges == (30 * 30 if joined else 30)


@pytest.mark.parametrize("n", [2, 3, 7, 30])
def test_exact_leaves_nobody_alone(n):
    assert (dgcg_graph(blobs(n), threshold="exact").degree >= 2).all()


def test_the_lonely_get_their_best_candidate():
    # Two tight groups and one outlier whose list agrees with nobody's: it must join its best score.
    features = np.concatenate([blobs(80), [[60.0] * 5]])
    lists = ranked_lists(features, 81)
    scores = rank_correlation(lists, 10)
    graph = dgcg_edges(lists, depth=10, threshold="exact")
    best = lists[80, 1 + scores[80, 1:].argmax()]
    assert set(graph.indices[graph.indptr[80] : graph.indptr[81]]) == {80, best}


def test_one_sample_is_a_graph():
    assert dgcg_graph([[1.0]], threshold="exact").n_edges == 1
    assert dgcg_graph([[1.0]]).n_edges == 1


def test_a_measure_may_be_passed_in():
    lists = ranked_lists(blobs(50), 50)
    named, given = (dgcg_edges(lists, depth=9, correlation=c) for c in ("jaccard", jaccard))
    np.testing.assert_array_equal(named.indices, given.indices)


def test_numbering_does_not_matter():
    features = blobs(120)
    order = np.random.default_rng(1).permutation(120)
    there = dgcg_graph(features, 20).to_scipy(int).toarray()
    back = dgcg_graph(features[order], 20).to_scipy(int).toarray()
    np.testing.assert_array_equal(back, there[np.ix_(order, order)])


def test_an_unreached_density_is_said(caplog):
    with caplog.at_level(logging.INFO):
        dgcg_graph(blobs(4))
    assert "outside 0.03 to 0.04" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"threshold": "auto"}, "threshold must be one of bisect, exact; got 'auto'"),
        ({"correlation": "cosine", "depth": 20}, "measure must be one of rbo"),
        ({"depth": 31}, "got depth 31 and lists of length 30"),
    ],
)
def test_says_what_is_wrong(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        dgcg_edges(ranked_lists(blobs(50), 30), **arguments)


def test_flowers17_bisects_to_the_published_threshold(shared_data):
    features = np.load(shared_data("flowers17/features_lite0.npz"))["features"]
    lists = ranked_lists(features, 200)
    scores = rank_correlation(lists, 40)
    assert THRESHOLDS["bisect"](scores, False) == 0.3125
    graph = dgcg_edges(lists)
    assert isinstance(graph, Graph)
    assert 5 < graph.degree.mean() - 1 < 9


def test_the_graph_of_features_passes_its_parameters_on():
    features = np.random.default_rng(4).normal(size=(260, 5))
    lists = ranked_lists(features, 200)
    for options in ({}, {"correlation": "jaccard"}, {"count_self": True}, {"threshold": "exact"}):
        for depth in (8, 30):
            expected = dgcg_edges(lists, depth=depth, **options)
            np.testing.assert_array_equal(dgcg_graph(features, depth, **options).indices, expected.indices)
    by_depth = [dgcg_graph(features, depth).indices for depth in (8, 30)]
    assert not np.array_equal(*by_depth)
    assert not np.array_equal(dgcg_graph(features, 30, correlation="jaccard").indices, by_depth[1])
