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
    monkeypatch.setattr(module, "LARGEST", 60)
    monkeypatch.setattr(module, "NEAR_ONES", 20)
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


def test_lists_longer_than_groups_are_full(small_groups, monkeypatch):
    """Nobody meets enough others: the rest is searched exactly, also if the recall is already enough."""
    monkeypatch.setattr(module, "COMPARED", 10_000)
    sizes = []
    complete, compare = module._Search.complete, module._Search._compare

    def watched(self):
        with monkeypatch.context() as patch:
            patch.setattr(
                module._Search, "_compare",
                lambda self, group, others: sizes.append(len(group) * len(others)) or compare(self, group, others),
            )  # fmt: skip
            complete(self)

    monkeypatch.setattr(module._Search, "complete", watched)
    lists, recall = approximate_lists(X[:900], 400, CPU, enough=0.0)
    assert 0 < max(sizes) <= module.COMPARED
    assert all(len(set(row)) == 400 for row in lists.tolist())
    truth = exact_lists(X[:900], 400, CPU)
    assert share_found(lists, truth) == pytest.approx(recall.value, abs=1e-9)


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


@pytest.fixture
def wide(small_groups, monkeypatch):
    """Samples that are first compared in 16 of their 64 dimensions."""
    monkeypatch.setitem(module.SKETCH, "cpu", 16)
    rows = X @ np.random.default_rng(1).normal(size=(24, 64)).astype(np.float32)
    return rows + 0.3 * np.random.default_rng(2).normal(size=rows.shape).astype(np.float32)


@pytest.mark.parametrize("length", [20, 60])
def test_rough_lists_in_a_few_directions_lead_to_enough_true_neighbors(wide, monkeypatch, length):
    in_groups, measured = [], []
    listed = module._listed_squares
    monkeypatch.setattr(
        module,
        "partial_squares",
        lambda rows, *a: in_groups.append(rows.shape[1]) or partial_squares(rows, *a),
    )
    monkeypatch.setattr(
        module,
        "_listed_squares",
        lambda rows, *a: measured.append((rows.shape[1], len(a[1]))) or listed(rows, *a),
    )
    lists, recall = approximate_lists(wide, length, CPU)
    assert recall.value >= 0.95
    assert recall.low <= share_found(lists, exact_lists(wide, length, CPU)) <= recall.high
    assert in_groups.count(16) > in_groups.count(64)
    assert measured == [(64, len(X))]
    np.testing.assert_array_equal(lists, approximate_lists(wide, length, CPU)[0])


def test_longer_rough_lists_lose_fewer_true_neighbors(wide, monkeypatch):
    shares = {}
    for spare in (0, module.SPARE):
        monkeypatch.setattr(module, "SPARE", spare)
        search = module._Search(torch.from_numpy(wide), 20, 0)
        search.partition()
        search.descend_until(0.95)
        search.refine()
        shares[spare] = search.recall().value
    assert shares[module.SPARE] > shares[0] + 0.02


def test_where_rough_lists_are_not_enough_descents_in_all_dimensions_follow(wide, monkeypatch):
    """Distances in so few directions say little: the best lists there miss most of the true neighbors."""
    monkeypatch.setitem(module.SKETCH, "cpu", 2)
    lists, recall = approximate_lists(wide, 20, CPU)
    assert recall.value >= 0.95
    assert share_found(lists, exact_lists(wide, 20, CPU)) == pytest.approx(recall.value, abs=0.02)


def test_squares_of_listed_entries_are_those_of_their_differences():
    rows = torch.from_numpy(X)
    squares = rows.square().sum(1)
    group, entries = torch.tensor([5, 0, 7]), torch.tensor([[5, 9, 2], [0, 0, 1], [7, 2999, 3]])
    wanted = (rows[group, None] - rows[entries]).square().sum(2)
    np.testing.assert_allclose(
        module._listed_squares(rows, squares, group, entries), wanted, rtol=1e-4, atol=1e-3
    )


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
