"""GraphSAGE's mean as a layer."""

import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from torch_geometric.nn import SAGEConv

from grande_gnn.degree import Grande
from grande_gnn.engine.gnns.sage import MeanLayer
from grande_gnn.nn import GrandeSAGEConv


def test_with_the_plain_degree_it_is_sageconv(plain_degree, x, edges):
    theirs, ours = SAGEConv(6, 4).double(), GrandeSAGEConv(6, 4).double()
    state = theirs.state_dict()
    state["lin_r.bias"] = state.pop("lin_l.bias")
    ours.load_state_dict(state)
    torch.testing.assert_close(ours(x, edges), theirs(x, edges))


def test_it_is_the_engine_s_layer(x, edges, graph):
    ours, engine = GrandeSAGEConv(6, 4, sigma=0.3).double(), MeanLayer(6, 4).double()
    names = {"lin_l.weight": "neighbors.weight", "lin_r.weight": "own.weight", "lin_r.bias": "own.bias"}
    engine.load_state_dict({names[name]: value for name, value in ours.state_dict().items()})
    torch.testing.assert_close(ours(x, edges), engine(x, graph, Grande(0.3)))


def test_an_isolated_node_keeps_its_own_part(x, edges):
    layer = GrandeSAGEConv(6, 4).double()
    torch.testing.assert_close(layer(x, edges)[-1], layer.lin_r(x[-1]))
