"""GPR-GNN is APPNP while its weights are APPNP's, and SGC with a single weight."""

import pytest
import torch

from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine.gnns.gprgnn import GPRGNN, appnp_coefficients
from grande_gnn.propagation import appnp, sgc

DEGREES = pytest.mark.parametrize("degree", [Centrality(), Grande(0.3)], ids=["centrality", "grande"])


def head(model, X):
    return model.second(model.first(X).relu())


@DEGREES
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_it_starts_as_appnp(small_graph, small_features, degree, alpha):
    model = GPRGNN(5, 3, hidden=4, n_hops=6, alpha=alpha).eval()
    h = head(model, small_features)
    expected = appnp(h, degree(h, small_graph), small_graph, n_hops=6, alpha=alpha)
    torch.testing.assert_close(model(small_features, small_graph, degree), expected)


@DEGREES
def test_with_one_weight_it_is_that_many_hops(small_graph, small_features, degree):
    model = GPRGNN(5, 3, hidden=4, n_hops=4).eval()
    with torch.no_grad():
        model.gamma.zero_()
        model.gamma[2] = 1
    h = head(model, small_features)
    expected = sgc(h, degree(h, small_graph), small_graph, n_hops=2)
    torch.testing.assert_close(model(small_features, small_graph, degree), expected)


def test_it_equals_pytorch_geometric_s_appnp(small_graph, small_features, pyg_edges):
    layer = pytest.importorskip("torch_geometric.nn", reason="needs the extra pyg").APPNP(K=5, alpha=0.2)
    model = GPRGNN(5, 3, hidden=4, n_hops=5, alpha=0.2).eval()
    expected = layer(head(model, small_features), pyg_edges)
    torch.testing.assert_close(model(small_features, small_graph, Centrality()), expected)


@pytest.mark.parametrize("n_hops", [0, 1, 10])
def test_the_first_weights_sum_to_one(n_hops):
    torch.testing.assert_close(appnp_coefficients(n_hops, 0.1).sum(), torch.tensor(1.0))


def test_resetting_restores_the_weights_of_the_hops():
    model = GPRGNN(5, 3, n_hops=3)
    with torch.no_grad():
        model.gamma.zero_()
    model.reset_parameters()
    torch.testing.assert_close(model.gamma.detach(), appnp_coefficients(3, 0.1))
