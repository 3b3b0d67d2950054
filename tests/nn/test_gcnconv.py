"""The graph convolution as a layer."""

import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from torch_geometric.nn import GCNConv

from grande_gnn.degree import Grande
from grande_gnn.engine.gnns.convolution import GraphConvolution
from grande_gnn.nn import GrandeGCNConv


def test_with_the_plain_degree_it_is_gcnconv(plain_degree, x, edges):
    theirs, ours = GCNConv(6, 4).double(), GrandeGCNConv(6, 4).double()
    torch.nn.init.normal_(theirs.bias)
    ours.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(ours(x, edges), theirs(x, edges))


def test_it_is_the_engine_s_layer(x, edges, graph):
    ours, engine = GrandeGCNConv(6, 4, sigma=0.3).double(), GraphConvolution(6, 4).double()
    torch.nn.init.normal_(engine.bias)
    ours.load_state_dict({"lin.weight": engine.weight.detach().T, "bias": engine.bias.detach()})
    torch.testing.assert_close(ours(x, edges), engine(x, graph, Grande(0.3)))


def test_bias_and_reset():
    conv = GrandeGCNConv(6, 4, bias=False)
    before = conv.lin.weight.clone()
    conv.reset_parameters()
    assert conv.bias is None
    assert not torch.equal(before, conv.lin.weight)
