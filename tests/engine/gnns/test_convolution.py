"""The graph convolution against a dense matrix, and the factor of other layers against what it does to Â."""

import numpy as np
import pytest
import torch

from grande_gnn.degree import Centrality, Grande, degree_centrality
from grande_gnn.engine.gnns.convolution import GraphConvolution, message_factors


def dense(graph):
    q, i = graph.edges("cpu")
    matrix = torch.zeros(graph.n_nodes, graph.n_nodes)
    matrix[q, i] = 1
    return matrix


@pytest.mark.parametrize("degree", [Centrality(), Grande(0.3)], ids=["centrality", "grande"])
def test_a_graph_convolution_is_its_formula(small_graph, small_features, degree):
    torch.manual_seed(0)
    layer = GraphConvolution(small_features.shape[1], 3)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([1.0, -2.0, 0.5]))
    h = small_features @ layer.weight
    scale = degree(h, small_graph).rsqrt()
    expected = (scale[:, None] * dense(small_graph) * scale) @ h + layer.bias
    torch.testing.assert_close(layer(small_features, small_graph, degree), expected)


def test_factors_are_one_with_degree_centrality(small_graph, small_features):
    factors = message_factors(small_features, small_graph, Centrality())
    np.testing.assert_allclose(factors.numpy(), 1)


def test_factors_change_a_gcn_into_one_with_the_grande_degree(small_graph, small_features):
    degree, (q, i) = Grande(0.3), small_graph.edges("cpu")
    count, delta = degree_centrality(small_graph, like=small_features), degree(small_features, small_graph)
    plain, ours = (d[q].rsqrt() * d[i].rsqrt() for d in (count, delta))
    factors = message_factors(small_features, small_graph, degree)
    torch.testing.assert_close(plain * factors, ours)
    assert float(factors.max()) < 1
