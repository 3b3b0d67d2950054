"""GCN with degree centrality is PyTorch Geometric's."""

import pytest
import torch

from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine.gnns.gcn import GCN


def test_with_degree_centrality_it_equals_gcnconv(small_graph, small_features, pyg_edges):
    conv = pytest.importorskip("torch_geometric.nn", reason="needs the extra pyg").GCNConv
    torch.manual_seed(1)
    model = GCN(5, 3, hidden=4).eval()
    layers = [conv(5, 4), conv(4, 3)]
    for ours, theirs in zip((model.first, model.second), layers, strict=True):
        torch.nn.init.normal_(ours.bias)
        theirs.load_state_dict({"lin.weight": ours.weight.detach().T, "bias": ours.bias.detach()})
    expected = layers[1](layers[0](small_features, pyg_edges).relu(), pyg_edges)
    torch.testing.assert_close(model(small_features, small_graph, Centrality()), expected)


def test_each_layer_asks_for_the_degree_of_its_own_output(small_graph, small_features):
    asked = []

    class Recorded(Grande):
        def __call__(self, h, graph):
            asked.append(h.detach().clone())
            return super().__call__(h, graph)

    model = GCN(5, 3, hidden=4).eval()
    model(small_features, small_graph, Recorded(0.2))
    assert [h.shape[1] for h in asked] == [4, 3]
    torch.testing.assert_close(asked[0], (small_features @ model.first.weight).detach())
