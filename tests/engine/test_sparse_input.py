"""Sparse features give what dense ones give, and are never made dense."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.models import MODELS
from grande_gnn.engine.plain import DiffusionModule
from grande_gnn.engine.sparse_input import SparseDropout, as_tensor, is_sparse, linear
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph

CPU = torch.device("cpu")


@pytest.fixture
def words():
    """A bag of words with an empty row and an empty column."""
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.3, size=(30, 12)).astype(np.float32)
    dense[4], dense[:, 7] = 0, 0
    return dense


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("degree", ["centrality", "grande"])
def test_every_model_computes_the_same_from_sparse_and_dense_features(words, name, degree):
    y = np.arange(30) % 3
    graph = Graph.from_edges(np.arange(27), np.arange(3, 30), n_nodes=30)
    replica = Replica(np.where(np.arange(30) < 9, y, -1), degree, hidden=8)
    settings = Settings(model=name, epochs=12, lr=0.05, dropout=0.0, device="cpu")
    (dense,) = train(words, graph, [replica], 3, settings, keep_models=True)
    (sparse,) = train(sp.csc_matrix(words), graph, [replica], 3, settings, keep_models=True)
    np.testing.assert_allclose(sparse.logits, dense.logits, atol=1e-4)
    assert sparse.parameters.keys() == dense.parameters.keys()


def test_dropout_keeps_the_mean_and_leaves_evaluation_alone(words):
    x, dropout = as_tensor(sp.csr_matrix(words), CPU), SparseDropout(0.5)
    torch.manual_seed(0)
    total = sum(dropout(x).to_dense() for _ in range(2000)) / 2000
    np.testing.assert_allclose(total, words, atol=0.3)
    assert dropout.eval()(x) is x
    kept = dropout.train()(x).to_dense().numpy()
    assert set(np.unique(kept[words == 1])) == {0.0, 2.0}
    assert is_sparse(dropout(x))


def test_the_dropout_of_a_diffusion_model_keeps_the_mean(words):
    replica, settings = Replica(np.zeros(30, dtype=int), hidden=8), Settings(model="appnp")
    module = DiffusionModule(12, 3, replica=replica, settings=settings)
    x = as_tensor(sp.csr_matrix(words), CPU)
    total = sum(module._dropped(x, 0).to_dense() for _ in range(2000)) / 2000
    np.testing.assert_allclose(total, words, atol=0.3)


@pytest.mark.parametrize("model", ["appnp", "gcn"])
def test_dropout_differs_between_epochs_and_repetitions_but_not_between_runs(words, model):
    graph = Graph.from_edges([0], [1], n_nodes=30)
    labels = np.where(np.arange(30) < 9, np.arange(30) % 3, -1)
    settings = Settings(model=model, epochs=3, device="cpu")

    def logits(repetition):
        replica = Replica(labels, "centrality", repetition, hidden=8)
        return train(sp.csr_matrix(words), graph, [replica], 3, settings, keep_models=True)[0].logits

    np.testing.assert_array_equal(logits(0), logits(0))
    assert not np.array_equal(logits(0), logits(1))


def test_a_layer_with_and_without_bias(words):
    x = as_tensor(sp.csr_matrix(words), CPU)
    for bias in (True, False):
        layer = nn.Linear(12, 2, bias=bias)
        torch.testing.assert_close(linear(x, layer), layer(torch.from_numpy(words)))
        torch.testing.assert_close(linear(torch.from_numpy(words), layer), layer(torch.from_numpy(words)))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sp.csr_matrix([[np.nan, 1.0]]), "must be finite.*got 1 such"),
        (sp.csr_matrix((0, 3)), r"one row per sample; got float64 of shape \(0, 3\)"),
        (sp.csr_matrix([[1j]]), "got complex128"),
        (sp.csr_matrix([[1e300]]), "must be finite"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(matrix, message):
    with pytest.raises(InvalidInputError, match=message):
        train(matrix, Graph.from_edges([0], [0], 1), [Replica(np.array([0]))], 1)


def test_entries_given_twice_are_added():
    doubled = sp.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    graph, labels = Graph.from_edges([0], [1], 2), np.array([0, 1])
    settings = Settings(model="sgc", epochs=2, device="cpu")
    ours, theirs = (
        train(X, graph, [Replica(labels)], 2, settings, keep_models=True)[0].logits
        for X in (doubled, sp.csr_matrix([[0, 3.0], [0, 0]]))
    )
    np.testing.assert_array_equal(ours, theirs)
