"""APPNP as a layer is its pure function."""

import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from torch_geometric.nn import APPNP

from grande_gnn.degree import grande_degree
from grande_gnn.nn import GrandeAPPNP
from grande_gnn.propagation import appnp


def test_it_is_appnp(x, edges, graph):
    layer = GrandeAPPNP(K=4, alpha=0.3, sigma=0.3)
    torch.testing.assert_close(
        layer(x, edges), appnp(x, grande_degree(x, graph, 0.3), graph, n_hops=4, alpha=0.3)
    )


def test_with_the_plain_degree_it_is_pytorch_geometric_s(plain_degree, x, edges):
    torch.testing.assert_close(GrandeAPPNP(7, 0.3)(x, edges), APPNP(7, 0.3)(x, edges))
