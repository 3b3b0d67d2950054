"""Lists by faiss's HNSW index: each sample first, with a measured recall."""

import sys

import numpy as np
import pytest
import torch

from grande_gnn.errors import MissingDependencyError
from grande_gnn.graph import Neighbors
from grande_gnn.graph import faiss_search as module
from grande_gnn.graph.exact_search import exact_lists

CPU = torch.device("cpu")
X = np.random.default_rng(0).normal(size=(1500, 12)).astype(np.float32)


def test_enough_true_neighbors_are_found():
    pytest.importorskip("faiss", reason="needs the extra faiss")
    lists, recall = module.faiss_lists(X, 20, CPU)
    truth = exact_lists(X, 20, CPU)
    found = (
        np.mean([len(set(a) & set(b)) - 1 for a, b in zip(lists.tolist(), truth.tolist(), strict=True)]) / 19
    )
    assert recall.value >= 0.95
    assert found == pytest.approx(recall.value, abs=0.02)
    np.testing.assert_array_equal(lists[:, 0], np.arange(len(X)))


def test_more_candidates_are_looked_at_until_the_recall_is_enough(monkeypatch):
    pytest.importorskip("faiss", reason="needs the extra faiss")
    monkeypatch.setattr(module, "WHILE_BUILDING", 5)
    monkeypatch.setattr(module, "LINKS", 4)
    monkeypatch.setattr(module, "CANDIDATES", (1,))
    low = module.faiss_lists(X, 5, CPU, enough=0.999)[1]
    monkeypatch.setattr(module, "CANDIDATES", (1, 500))
    high = module.faiss_lists(X, 5, CPU, enough=0.999)[1]
    assert low.value < high.value


def test_it_is_a_backend_of_neighbors():
    pytest.importorskip("faiss", reason="needs the extra faiss")
    neighbors = Neighbors(X[:300], backend="faiss", device="cpu")
    assert neighbors.lists(10).shape == (300, 10)
    assert neighbors.recall.value >= 0.95


def test_a_missing_faiss_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r"pip install .grande-gnn\[faiss\]"):
        module.faiss_lists(X, 5, CPU)


def test_each_sample_comes_first_whatever_was_found():
    found = np.array([[1, 0, 2], [1, 2, -1], [0, 1, 3], [3, 3, 0]])
    lists = module._itself_first(found)
    assert lists.tolist() == [[0, 1, 2], [1, 1, 2], [2, 0, 1], [3, 3, 0]]
