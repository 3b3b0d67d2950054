"""GPR-GNN's propagation as a layer."""

import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from grande_gnn.nn import GrandeAPPNP, GrandeGPRConv


def test_it_starts_as_appnp(x, edges):
    options = {"K": 5, "alpha": 0.2, "sigma": 0.3}
    torch.testing.assert_close(
        GrandeGPRConv(**options).double()(x, edges), GrandeAPPNP(**options)(x, edges), atol=1e-6, rtol=1e-6
    )


def test_its_weights_are_learned(x, edges):
    layer = GrandeGPRConv(K=3).double()
    layer(x, edges).square().sum().backward()
    assert (layer.gamma.grad != 0).all()


def test_one_weight_is_one_power(x, edges):
    layer = GrandeGPRConv(K=3, sigma=0.3).double()
    with torch.no_grad():
        layer.gamma.copy_(torch.tensor([0.0, 0.0, 1.0, 0.0]))
    torch.testing.assert_close(layer(x, edges), GrandeAPPNP(K=2, alpha=0.0, sigma=0.3)(x, edges))
