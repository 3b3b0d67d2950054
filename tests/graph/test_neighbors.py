"""Neighbors are searched once and handed on; prefixes, distances and queries follow from the definition."""

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Neighbors, ranked_lists
from grande_gnn.graph import neighbors as module

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


@pytest.fixture
def searches(monkeypatch):
    """The list lengths that were searched for."""
    lengths = []
    exact = module.BACKENDS["exact"]
    monkeypatch.setitem(
        module.BACKENDS, "exact", lambda X, length, device: lengths.append(length) or exact(X, length, device)
    )
    return lengths


def test_nothing_is_searched_before_it_is_needed(searches):
    neighbors = Neighbors(X)
    assert neighbors.length == 0
    neighbors.query(X[:2], 3)
    assert searches == []


def test_one_search_serves_every_shorter_list_and_a_longer_one_searches_again(searches):
    neighbors = Neighbors(X)
    for k in (20, 5, 20, 1):
        np.testing.assert_array_equal(neighbors.lists(k), ranked_lists(X, k, method="balltree"))
    neighbors.distances(6)
    assert searches == [20]
    neighbors.lists(30)
    assert searches == [20, 30]
    assert neighbors.length == 30


def test_more_than_all_samples_are_all_samples(searches):
    neighbors = Neighbors(X)
    assert neighbors.lists(1000).shape == (40, 40)
    neighbors.lists(500)
    assert searches == [40]


def test_distances_are_those_of_the_entries():
    neighbors = Neighbors(X)
    expected = np.sort(np.linalg.norm(X[:, None].astype(np.float64) - X[None], axis=2), axis=1)
    for k in (1, 2, 7):
        np.testing.assert_allclose(neighbors.distances(k), expected[:, k - 1], rtol=1e-6, atol=1e-7)
    assert np.isinf(neighbors.distances(41)).all()


def test_first_distances_are_kept_until_other_lists_are_searched():
    found = [np.array([[0, 1], [1, 2], [2, 0]]), np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]])]
    points = np.array([[0.0], [1.0], [3.0]])
    neighbors = Neighbors(points, backend=lambda X, length, device: found[length - 2].astype(np.int32))
    assert neighbors.first_distances(2).tolist() == [[0, 1], [0, 2], [0, 3]]
    assert neighbors.distances(2).tolist() == [1, 2, 3]
    assert neighbors.distances(3).tolist() == [1, 2, 3]  # these lists are other ones
    assert neighbors.distances(2).tolist() == [3, 1, 2]
    assert neighbors.first_distances(9).tolist() == [[0, 3, 1], [0, 1, 2], [0, 2, 3]]


def test_a_query_gives_the_nearest_by_distance_then_index():
    new = np.random.default_rng(1).normal(size=(9, 3)).astype(np.float32)
    found, distance = Neighbors(X).query(new, 5)
    exact = np.sqrt(((new[:, None].astype(np.float64) - X[None].astype(np.float64)) ** 2).sum(2))
    expected = np.lexsort((np.broadcast_to(np.arange(40), exact.shape), exact), axis=1)[:, :5]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(distance, np.take_along_axis(exact, expected, 1))
    assert Neighbors(X).query(new, 99)[0].shape == (9, 40)


def test_known_lists_are_used_and_not_searched_again(searches):
    lists = ranked_lists(X, 10)
    searches.clear()
    neighbors = Neighbors.from_lists(X, lists)
    np.testing.assert_array_equal(neighbors.lists(4), lists[:, :4])
    assert neighbors.length == 10
    assert searches == []
    neighbors.lists(12)
    assert searches == [12]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Neighbors(X, backend="annoy"),
            "backend must be one of auto, exact, approximate, faiss, balltree; got 'annoy'",
        ),
        (lambda: Neighbors(X).lists(0), "k must be an integer of at least 1; got 0"),
        (lambda: Neighbors.from_lists(X, np.zeros((3, 2), int)), "40 samples; got 3 rows"),
        (lambda: Neighbors(X).query([[np.nan] * 3], 1), "new must be finite"),
    ],
)
def test_says_what_is_wrong(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()


def test_small_sets_are_searched_exactly_without_a_prediction(monkeypatch):
    monkeypatch.setattr(module, "exact_seconds", lambda *arguments: pytest.fail("nothing to predict"))
    neighbors = Neighbors(X, device="cpu")
    np.testing.assert_array_equal(neighbors.lists(5), ranked_lists(X, 5))
    assert neighbors.recall is None


@pytest.mark.parametrize(("seconds", "approximate"), [(59.0, False), (61.0, True)])
def test_a_search_that_would_take_over_a_minute_is_approximate(monkeypatch, seconds, approximate):
    monkeypatch.setattr(module, "SURELY_FAST", 10)
    monkeypatch.setattr(module, "exact_seconds", lambda *arguments: seconds)
    neighbors = Neighbors(X, device="cpu")
    np.testing.assert_array_equal(neighbors.lists(5), ranked_lists(X, 5))  # one group holds them all
    assert (neighbors.recall is not None) == approximate
    if approximate:
        assert neighbors.recall.value == 1


def test_approximate_lists_can_be_asked_for():
    np.testing.assert_array_equal(ranked_lists(X, 6, method="approximate"), ranked_lists(X, 6))
