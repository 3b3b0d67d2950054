"""Attention as a layer."""

import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from torch_geometric.nn import GATConv

from grande_gnn.degree import Grande
from grande_gnn.engine.gnns.gat import AttentionLayer
from grande_gnn.nn import GrandeGATConv


@pytest.mark.parametrize("concat", [True, False])
def test_with_the_plain_degree_it_is_gatconv(plain_degree, x, edges, concat):
    theirs, ours = (make(6, 4, heads=3, concat=concat).double() for make in (GATConv, GrandeGATConv))
    torch.nn.init.normal_(theirs.bias)
    ours.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(ours(x, edges), theirs(x, edges))


def test_it_is_the_engine_s_layer(x, edges, graph):
    torch.manual_seed(0)
    ours = GrandeGATConv(6, 4, heads=2, sigma=0.3).double()
    engine = AttentionLayer(6, 4, 2, dropout=0.0).double()
    state = {
        "weight": ours.lin.weight.detach().T, "sender": ours.att_src.detach()[0],
        "receiver": ours.att_dst.detach()[0], "bias": ours.bias.detach(),
    }  # fmt: skip
    engine.load_state_dict(state)
    torch.testing.assert_close(ours(x, edges), engine(x, graph, Grande(0.3)))
