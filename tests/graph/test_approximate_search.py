"""Approximate lists: ordered as exact ones, with a recall that is true, for any data and the same for the same seed."""

import logging

import numpy as np
import pytest
import torch

from grande_gnn.graph import approximate_search as module
from grande_gnn.graph.approximate_search import approximate_lists
from grande_gnn.graph.exact_search import exact_lists, partial_squares
from grande_gnn.graph.recall import recall_of

CPU = torch.device("cpu")


def _mixture(n=3000, d=24, c=30):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(c, d)) * 1.2 + rng.normal(size=(n // c, c, d))).reshape(n, d).astype(np.float32)


X = _mixture()
TRUTH = exact_lists(X, 20, CPU)


@pytest.fixture
def small_groups(monkeypatch):
    """Groups far smaller than the data, as with a million samples; few leaders, so that there are several levels."""
    monkeypatch.setitem(module.LARGEST, "cpu", 60)
    monkeypatch.setitem(module.NEAR_ONES, "cpu", 20)
    monkeypatch.setattr(module, "BRANCHES", 12)


def share_found(lists, truth):
    return np.mean(
        [len(set(a[1:]) & set(b[1:])) / (truth.shape[1] - 1) for a, b in zip(lists, truth, strict=True)]
    )


def test_enough_of_the_true_neighbors_are_found_and_the_recall_says_how_many(small_groups):
    lists, recall = approximate_lists(X, 20, CPU)
    assert 0.95 <= recall.value < 1
    assert recall.low <= share_found(lists, TRUTH) <= recall.high
    assert recall.low < recall.value < recall.high


def test_the_recall_is_raised_until_it_is_enough(small_groups):
    quick, low = approximate_lists(X, 20, CPU, enough=0.5)
    _, high = approximate_lists(X, 20, CPU, enough=0.99)
    assert low.value < 0.95
    assert high.value >= 0.99
    assert share_found(quick, TRUTH) == pytest.approx(low.value, abs=0.02)


def test_overlapping_groups_of_one_level_find_more_than_those_of_several(small_groups, monkeypatch):
    """Samples beside the border of a group meet their neighbors in the others only if those overlap at the last level."""
    (one_level, pairs), (several, pairs_of_several) = (
        _partitioned(monkeypatch, "LEADERS", leaders) for leaders in (4096, 12)
    )
    assert one_level > several + 0.03
    assert pairs < 1.2 * pairs_of_several


def test_leaders_by_k_means_separate_fewer_neighbors_than_random_ones(small_groups, monkeypatch):
    (centers, pairs), (random, pairs_of_random) = (
        _partitioned(monkeypatch, "STEPS", steps) for steps in (5, 0)
    )
    assert centers > random + 0.03
    assert pairs < 1.2 * pairs_of_random


def _partitioned(monkeypatch, name, value):
    """The recall after a partition with another constant, and the number of compared pairs."""
    monkeypatch.setattr(module, name, value)
    search, compared = module._Search(torch.from_numpy(X), 20, 0), []
    merge = search.kept.merge
    monkeypatch.setattr(search.kept, "merge", lambda *a: compared.append(a[2].numel()) or merge(*a))
    search.partition()
    return search.recall().value, sum(compared)


def test_entries_are_different_and_ordered_as_in_exact_lists(small_groups):
    lists, _ = approximate_lists(X, 20, CPU)
    np.testing.assert_array_equal(lists[:, 0], np.arange(len(X)))
    assert all(len(set(row)) == 20 for row in lists.tolist())
    distances = np.linalg.norm(X[lists].astype(np.float64) - X[:, None], axis=2)
    assert (np.diff(distances, axis=1) >= 0).all()


def test_ties_are_ordered_by_index():
    grid = np.stack(np.meshgrid(np.arange(20), np.arange(20)), -1).reshape(-1, 2).astype(np.float32) + 100
    lists, _ = approximate_lists(grid, 20, CPU)
    distances = np.linalg.norm(grid[lists].astype(np.float64) - grid[:, None], axis=2)
    for near, entries in zip(distances[:, 1:], lists[:, 1:], strict=True):
        np.testing.assert_array_equal(entries, entries[np.lexsort((entries, near))])


def test_one_group_that_holds_everyone_gives_exact_lists():
    lists, recall = approximate_lists(X[:500], 20, CPU)
    np.testing.assert_array_equal(lists, exact_lists(X[:500], 20, CPU))
    assert (recall.value, recall.n) == (1, 500)


def test_the_same_seed_gives_the_same_lists_and_another_seed_others(small_groups):
    one, again, other = (approximate_lists(X, 20, CPU, seed=seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_lists_do_not_depend_on_the_scale_or_position_of_the_data(small_groups):
    one, _ = approximate_lists(X, 20, CPU)
    moved, _ = approximate_lists(X * 1024, 20, CPU)
    np.testing.assert_array_equal(one, moved)


@pytest.mark.parametrize("n_different", [1, 5])
def test_many_copies_end_and_count_as_found(small_groups, n_different):
    copies = np.repeat(X[:n_different], 1000 // n_different, axis=0)
    lists, recall = approximate_lists(copies, 20, CPU)
    assert recall.value == 1
    assert all(len(set(row)) == 20 for row in lists.tolist())
    np.testing.assert_array_equal(copies[lists[:, -1]], copies)


def test_lists_of_one_entry_are_the_samples_themselves():
    lists, recall = approximate_lists(X[:50], 1, CPU)
    assert lists.ravel().tolist() == list(range(50))
    assert recall.value == 1


def test_a_recall_that_was_not_reached_is_reported(small_groups, monkeypatch, caplog):
    monkeypatch.setattr(module, "MOST_ROUNDS", 0)
    with caplog.at_level(logging.WARNING):
        _, recall = approximate_lists(X, 20, CPU)
    assert recall.value < 0.95
    assert str(recall) in caplog.text


@pytest.mark.parametrize("length", [20, 60])
def test_rough_lists_in_a_few_directions_lead_to_enough_true_neighbors(small_groups, monkeypatch, length):
    wide = X @ np.random.default_rng(1).normal(size=(24, 64)).astype(np.float32)
    wide += 0.3 * np.random.default_rng(2).normal(size=wide.shape).astype(np.float32)
    monkeypatch.setitem(module.SKETCH, "cpu", 16)
    seen = []
    monkeypatch.setattr(
        module, "partial_squares", lambda rows, *a: seen.append(rows.shape[1]) or partial_squares(rows, *a)
    )
    lists, recall = approximate_lists(wide, length, CPU)
    assert recall.value >= 0.95
    assert recall.low <= share_found(lists, exact_lists(wide, length, CPU)) <= recall.high
    assert seen.count(16) > seen.count(64) > 0
    np.testing.assert_array_equal(lists, approximate_lists(wide, length, CPU)[0])


def test_directions_are_those_in_which_samples_differ_most(monkeypatch):
    monkeypatch.setitem(module.SKETCH, "cpu", 8)
    random = np.random.default_rng(0)
    Q = np.linalg.qr(random.normal(size=(40, 40)))[0]
    flat = (random.normal(size=(500, 40)) * np.r_[np.full(8, 10.0), np.full(32, 0.01)]) @ Q
    search = module._Search(torch.from_numpy(flat.astype(np.float32)), 5, 0)
    assert search.is_rough
    kept, whole = (torch.cdist(rows, rows) for rows in (search.sketch, search.all_rows))
    np.testing.assert_allclose(kept, whole, rtol=1e-2, atol=1e-3)


def test_few_dimensions_are_compared_as_they_are():
    assert not module._Search(torch.from_numpy(X), 5, 0).is_rough


def test_the_recall_of_lists_made_elsewhere(small_groups):
    assert recall_of(X, TRUTH, CPU).value == 1
    lists, own = approximate_lists(X, 20, CPU, enough=0.5)
    assert recall_of(X, lists, CPU).value == pytest.approx(own.value, abs=0.02)
    strangers = np.hstack([TRUTH[:, :1], TRUTH[::-1, 1:]])
    assert recall_of(X, strangers, CPU).value < 0.05
