"""GAT with degree centrality is PyTorch Geometric's; with the GRaNDe degree each message has its factor."""

import pytest
import torch

from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine.gnns.convolution import message_factors
from grande_gnn.engine.gnns.gat import GAT, AttentionLayer, softmax_over_neighbors


@pytest.fixture
def layer():
    torch.manual_seed(2)
    layer = AttentionLayer(5, 3, 2, dropout=0.6).eval()
    torch.nn.init.normal_(layer.bias)
    return layer


def test_with_degree_centrality_it_equals_gatconv(layer, small_graph, small_features, pyg_edges):
    nn = pytest.importorskip("torch_geometric.nn", reason="needs the extra pyg")
    theirs = nn.GATConv(5, 3, heads=2, add_self_loops=False)
    theirs.load_state_dict(
        {
            "lin.weight": layer.weight.detach().T,
            "att_src": layer.sender.detach()[None],
            "att_dst": layer.receiver.detach()[None],
            "bias": layer.bias.detach(),
        }
    )
    torch.testing.assert_close(
        layer(small_features, small_graph, Centrality()), theirs(small_features, pyg_edges)
    )


def test_with_the_grande_degree_every_message_has_its_factor(layer, small_graph, small_features):
    degree, (q, i) = Grande(0.3), small_graph.edges("cpu")
    flat = small_features @ layer.weight
    h = flat.view(8, 2, 3)
    expected = torch.zeros(8, 2, 3)
    factors = message_factors(flat, small_graph, degree)
    for node in range(8):
        edges = torch.nonzero(q == node).flatten()
        raw = (h[node] * layer.receiver).sum(-1) + (h[i[edges]] * layer.sender).sum(-1)
        attention = torch.nn.functional.leaky_relu(raw, 0.2).softmax(0)
        for row, edge in enumerate(edges):
            expected[node] += attention[row][:, None] * factors[edge] * h[i[edge]]
    out = layer(small_features, small_graph, degree)
    torch.testing.assert_close(out, expected.flatten(1) + layer.bias)


def test_attention_survives_large_scores(small_graph):
    q, _ = small_graph.edges("cpu")
    scores = torch.linspace(-1e4, 1e4, len(q))[:, None]
    weights = softmax_over_neighbors(scores, q, 8)
    assert bool(weights.isfinite().all())
    torch.testing.assert_close(torch.zeros(8, 1).index_add(0, q, weights), torch.ones(8, 1))


def test_the_heads_share_the_hidden_units(small_graph, small_features):
    model = GAT(5, 3, hidden=16)
    assert model.first.weight.shape == (5, 16)
    assert model(small_features, small_graph, Grande()).shape == (8, 3)
