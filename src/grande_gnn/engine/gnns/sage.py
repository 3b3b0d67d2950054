"""GraphSAGE with mean aggregation (Hamilton et al., Inductive Representation Learning on Large Graphs, NeurIPS 2017).

    z_q = x_q V + mean over i ∈ N(q), i ≠ q, of √(r(q) r(i)) x_i W + b,    r = |N|/δ

With degree centrality r = 1 and a layer is ``SAGEConv`` of PyTorch Geometric on the edges without self-loops. A node
without neighbors has a mean of 0.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grande_gnn.degree import Degree, degree_centrality
from grande_gnn.engine.gnns.convolution import message_factors
from grande_gnn.engine.sparse_input import SparseDropout, linear
from grande_gnn.graph import Graph

__all__ = ["SAGE", "MeanLayer"]


class MeanLayer(nn.Module):
    """The node itself and the mean of its neighbors, each with weights of its own; the degree is that of x W."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.own = nn.Linear(n_inputs, n_outputs)
        self.neighbors = nn.Linear(n_inputs, n_outputs, bias=False)

    def forward(self, x: Tensor, graph: Graph, degree: Degree) -> Tensor:
        q, i = graph.edges(x.device)
        h = linear(x, self.neighbors)
        factor = torch.where(q == i, 0.0, message_factors(h, graph, degree))
        others = (degree_centrality(graph, like=h) - 1).clamp_min(1)
        total = torch.zeros_like(h).index_add(0, q, factor[:, None] * h[i])
        return linear(x, self.own) + total / others[:, None]


class SAGE(nn.Module):
    """Two layers with ReLU and dropout before each."""

    def __init__(self, n_features: int, n_classes: int, hidden: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        self.first, self.second = MeanLayer(n_features, hidden), MeanLayer(hidden, n_classes)
        self.dropout = SparseDropout(dropout)

    def forward(self, X: Tensor, graph: Graph, degree: Degree) -> Tensor:
        hidden = self.first(self.dropout(X), graph, degree).relu()
        return self.second(self.dropout(hidden), graph, degree)
