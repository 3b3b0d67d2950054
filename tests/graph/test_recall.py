"""The recall of lists: 1 for exact ones, the share that is right for others, and equal distances count as found."""

import numpy as np
import pytest
import torch

from grande_gnn.graph.exact_search import exact_lists
from grande_gnn.graph.recall import Recall, recall_of

CPU = torch.device("cpu")
X = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float32)
TRUTH = exact_lists(X, 21, CPU)


def test_exact_lists_have_all_neighbors():
    assert recall_of(X, TRUTH, CPU) == Recall(1.0, 1.0, 1.0, 1000)


@pytest.mark.parametrize("wrong", [1, 10, 20])
def test_the_share_of_far_entries_is_missing(wrong):
    far = np.argsort(-np.linalg.norm(X, axis=1))[:wrong][None].repeat(len(X), 0).astype(np.int32)
    lists = np.hstack([TRUTH[:, : 21 - wrong], far])
    found = recall_of(X, lists, CPU)
    assert found.value == pytest.approx(1 - wrong / 20, abs=0.01)
    assert found.low <= found.value <= found.high


def test_which_of_equal_samples_is_named_does_not_matter():
    copies = np.repeat(X[:10], 50, axis=0)
    lists = exact_lists(copies, 5, CPU)
    others = np.hstack([lists[:, :1], (lists[:, :1] // 50) * 50 + 40 + np.arange(4)])
    assert recall_of(copies, others, CPU).value == 1


def test_another_seed_asks_other_rows():
    lists = TRUTH.copy()
    lists[:1000, 1:] = lists[1000:, 1:]
    one, other = (recall_of(X, lists, CPU, seed=seed).value for seed in (0, 1))
    assert one != other
    assert one == pytest.approx(0.5, abs=0.1)


def test_a_recall_prints_its_interval():
    assert str(Recall(0.9512, 0.94, 0.96, 1000)) == (
        "0.951 (95 % interval 0.940 to 0.960, from 1000 random rows)"
    )


@pytest.mark.parametrize("far", [1e4, 1e6, 1e8, 1e12])
def test_one_sample_far_from_all_others_does_not_hide_wrong_lists(far):
    rows = X.copy()
    rows[5] = far
    truth = exact_lists(rows, 21, CPU)
    assert recall_of(rows, truth, CPU).value > 0.999
    wrong = np.hstack([truth[:, :1], np.random.default_rng(1).integers(0, 2000, (2000, 20)).astype(np.int32)])
    assert recall_of(rows, wrong, CPU).value < 0.1
