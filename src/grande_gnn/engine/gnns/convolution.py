"""What the networks of this folder share: a layer that spreads over the graph, and how a degree enters any other layer.

    graph convolution   Z = Â X W + b,                 Â = D^(−½)(A + I)D^(−½),  D = diag(δ)       (Kipf & Welling, 2017)

    any other layer     the message from i to q is multiplied by √(r(q) r(i)),  r = |N| / δ

The second line follows from the first: in Â, replacing the degree centrality |N| by δ multiplies the entry of the
edge (q, i) by √(r(q) r(i)). With degree centrality r = 1 and the layer is the published one; with the GRaNDe degree
r < 1, and nodes with far neighbors send and receive weaker messages.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grande_gnn.degree import Degree, degree_centrality
from grande_gnn.graph import Graph
from grande_gnn.propagation import propagate

__all__ = ["GraphConvolution", "message_factors"]


class GraphConvolution(nn.Module):
    """Z = Â X W + b with the degree of X W: ``GCNConv`` of PyTorch Geometric when the degree is degree centrality."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_inputs, n_outputs))
        self.bias = nn.Parameter(torch.empty(n_outputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's uniform weights and a bias of 0, as in the authors' code."""
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, graph: Graph, degree: Degree) -> Tensor:
        h = x @ self.weight
        return propagate(h, degree(h, graph), graph) + self.bias


def message_factors(h: Tensor, graph: Graph, degree: Degree) -> Tensor:
    """√(r(q) r(i)) of every edge (q, i), self-loops included, with r = |N|/δ and the degree δ of ``h`` (n × c)."""
    q, i = graph.edges(h.device)
    ratio = (degree_centrality(graph, like=h) / degree(h, graph)).sqrt()
    return ratio[q] * ratio[i]
