"""GraphSAGE with degree centrality is PyTorch Geometric's; with the GRaNDe degree each message has its factor."""

import pytest
import torch

from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine.gnns.convolution import message_factors
from grande_gnn.engine.gnns.sage import SAGE, MeanLayer


@pytest.fixture
def layer():
    torch.manual_seed(2)
    return MeanLayer(5, 3)


def test_with_degree_centrality_it_equals_sageconv(layer, small_graph, small_features, pyg_edges):
    nn = pytest.importorskip("torch_geometric.nn", reason="needs the extra pyg")
    theirs = nn.SAGEConv(5, 3)
    theirs.load_state_dict(
        {
            "lin_l.weight": layer.neighbors.weight,
            "lin_l.bias": layer.own.bias,
            "lin_r.weight": layer.own.weight,
        }
    )
    without_loops = pyg_edges[:, pyg_edges[0] != pyg_edges[1]]
    torch.testing.assert_close(
        layer(small_features, small_graph, Centrality()), theirs(small_features, without_loops)
    )


def test_with_the_grande_degree_every_message_has_its_factor(layer, small_graph, small_features):
    degree, (q, i) = Grande(0.3), small_graph.edges("cpu")
    h = layer.neighbors(small_features)
    factors = message_factors(h, small_graph, degree)
    expected = layer.own(small_features)
    for node in range(8):
        edges = [e for e in range(len(q)) if q[e] == node and i[e] != node]
        if edges:
            expected = expected.index_add(
                0, torch.tensor([node]), sum(factors[e] * h[i[e]] for e in edges)[None] / len(edges)
            )
    torch.testing.assert_close(layer(small_features, small_graph, degree), expected)


def test_an_isolated_node_keeps_its_own_part(layer, small_graph, small_features):
    out = layer(small_features, small_graph, Grande())
    torch.testing.assert_close(out[7], layer.own(small_features[7]))


def test_two_layers_give_one_logit_per_class(small_graph, small_features):
    assert SAGE(5, 3, hidden=4)(small_features, small_graph, Grande()).shape == (8, 3)
