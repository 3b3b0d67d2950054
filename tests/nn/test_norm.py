"""The entries of Â, edge by edge."""

import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from grande_gnn.nn import GrandeNorm
from grande_gnn.propagation import grande_norm


def test_norm_agrees_with_grande_norm_edge_by_edge(edges, x, graph):
    h = x
    index, weight = GrandeNorm(sigma=0.3)(h, edges)
    q, i = graph.edges()
    order = (index[0] * len(x) + index[1]).argsort()
    assert torch.equal(index[:, order], torch.stack((q, i)))
    torch.testing.assert_close(weight[order], grande_norm(h, graph, 0.3))


def test_large_sigma_makes_every_penalty_one(edges, x):
    index, weight = GrandeNorm(sigma=1e12)(x, edges)
    delta = torch.bincount(index[0]) + 1.0
    torch.testing.assert_close(weight, (delta[index[0]] * delta[index[1]]).rsqrt().double())


def test_weights_scale_entries_and_leave_the_degree_alone(edges, x):
    n = len(x)
    loops = torch.arange(n).repeat(2, 1)
    weight = torch.rand(edges.size(1) + n, generator=torch.Generator().manual_seed(5), dtype=x.dtype)
    index, plain = GrandeNorm()(x, torch.cat((edges, loops), 1))
    same, weighted = GrandeNorm()(x, torch.cat((edges, loops), 1), weight)
    assert torch.equal(index, same)
    torch.testing.assert_close(weighted, plain * weight)


def test_a_repeated_edge_is_a_repeated_neighbor():
    # Two nodes a distance 1 apart: |N(0)| = 3, s(0) = (1 + 2e^(1/σ))/3, as if a third node lay on node 1.
    h = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    _, weight = GrandeNorm(sigma=1.0)(h, torch.tensor([[0, 0, 1], [1, 1, 0]]))
    e = np.e
    expected = 1 / np.sqrt((3 + (1 + 2 * e) / 3) * (2 + (1 + e) / 2))
    assert weight[:3].tolist() == pytest.approx([expected] * 3)
