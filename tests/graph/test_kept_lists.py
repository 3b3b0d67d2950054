"""Lists that keep the nearest of old and new entries: those of one big selection, on any path."""

import math

import numpy as np
import pytest
import torch

from grande_gnn.graph import kept_lists as module
from grande_gnn.graph.kept_lists import KeptLists

CPU = torch.device("cpu")


def _squares(n=300, d=5, seed=0):
    X = torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d)))
    return torch.cdist(X, X).square().float()


def _offer(kept, squares, others):
    everyone = torch.arange(len(squares))
    offset = torch.linspace(-3, 3, len(squares))
    kept.merge(everyone, others, squares[:, others] - offset[:, None], offset)


@pytest.mark.parametrize("pieces", [1, 2, 7])
@pytest.mark.parametrize("length", [2, 10, 60])
def test_offers_in_any_pieces_keep_the_nearest_of_all(length, pieces):
    squares = _squares()
    kept = KeptLists(len(squares), length, CPU)
    for others in torch.randperm(len(squares), generator=torch.Generator().manual_seed(1)).chunk(pieces):
        _offer(kept, squares, others)
    truth = squares.clone().fill_diagonal_(-math.inf).topk(length, largest=False)
    np.testing.assert_array_equal(kept.found.numpy(), truth.indices.numpy())
    np.testing.assert_allclose(kept.values[:, 1:], truth.values[:, 1:], atol=1e-4)


def test_an_offer_again_changes_nothing():
    squares = _squares()
    kept = KeptLists(len(squares), 10, CPU)
    _offer(kept, squares, torch.arange(200))
    found = kept.found.clone()
    _offer(kept, squares, torch.arange(50, 150))
    np.testing.assert_array_equal(kept.found, found)


def test_a_filled_list_keeps_the_nearest_entries_and_the_sample_itself_only_first():
    kept = KeptLists(9, 4, CPU)
    entries = torch.tensor([[2, 7, 5, 2, 8, 6], [4, 0, 1, 3, 5, 7]])
    values = torch.tensor([[0.0, 3.0, 1.0, 0.0, 2.0, 4.0], [0.0, 9.0, 7.0, 8.0, 6.0, 5.0]])
    kept.fill(torch.tensor([2, 4]), entries, values)
    assert kept.found[[2, 4]].tolist() == [[2, 5, 8, 7], [4, 7, 5, 1]]
    assert kept.values[[2, 4]].tolist() == [[-math.inf, 1, 2, 3], [-math.inf, 5, 6, 7]]
    assert kept.found[3].tolist() == [3, 3, 3, 3]


def test_what_is_not_known_is_the_sample_itself_at_infinite_distance():
    kept = KeptLists(5, 4, CPU)
    _offer(kept, _squares(5), torch.tensor([0, 1]))
    assert kept.found[4].tolist()[3] == 4
    assert kept.values[4].tolist()[3] == math.inf
    assert {0, 1} < set(kept.found[4].tolist())


def test_lists_that_learn_different_numbers_of_entries_name_nobody_else_for_the_rest():
    kept = KeptLists(6, 5, CPU)
    values = torch.tensor([[math.inf, 0.0, 1.0], [3.0, 2.0, 0.0]])
    for _ in range(2):
        kept.merge(torch.tensor([0, 1]), torch.tensor([3, 0, 1]), values.clone(), torch.zeros(2))
    assert kept.found[:2].tolist() == [[0, 1, 0, 0, 0], [1, 0, 3, 1, 1]]
    assert kept.values[:2, 1:4].tolist() == [[1, math.inf, math.inf], [2, 3, math.inf]]


def test_a_list_of_one_entry_stays_the_sample_itself():
    kept = KeptLists(50, 1, CPU)
    _offer(kept, _squares(50), torch.arange(50))
    assert kept.found[:, 0].tolist() == list(range(50))


@pytest.mark.parametrize("columns", [100, 4000])
def test_bounds_leave_the_smallest_numbers_and_not_many_more(columns):
    values = torch.rand(20, columns, generator=torch.Generator().manual_seed(0))
    bounds = module._bounds(values, torch.full((20,), math.inf), 30)
    numbers, places = module._below(values, bounds)
    smallest = values.topk(30, largest=False).values
    np.testing.assert_array_equal(numbers.topk(30, largest=False).values, smallest)
    real = torch.isfinite(numbers)
    np.testing.assert_array_equal(values.gather(1, places)[real], numbers[real])
    if columns == 4000:
        assert real.sum(1).double().mean() < 60


def test_equal_numbers_do_not_fall_below_their_own_bound():
    values = torch.full((3, 1000), 2.0)
    bounds = module._bounds(values, torch.full((3,), math.inf), 10)
    assert (torch.isfinite(module._below(values, bounds)[0]).sum(1) >= 10).all()
