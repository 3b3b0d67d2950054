"""GAT (Veličković et al., Graph Attention Networks, ICLR 2018).

    e(q, i) = LeakyReLU(a · W x_q + b · W x_i),    α(q, ·) = softmax of e(q, ·) over N(q), which includes q
    z_q = Σ_{i ∈ N(q)} α(q, i) √(r(q) r(i)) W x_i + c,    r = |N|/δ

With degree centrality r = 1 and a layer is ``GATConv`` of PyTorch Geometric. Attention alone cannot do what the degree
does: its weights sum to 1 over N(q), however far the neighbors are.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grande_gnn.degree import Degree
from grande_gnn.engine.gnns.convolution import message_factors
from grande_gnn.engine.sparse_input import SparseDropout
from grande_gnn.graph import Graph

__all__ = ["GAT", "AttentionLayer"]

N_HEADS = 8  # the authors'
SLOPE = 0.2  # of LeakyReLU, the authors'


class AttentionLayer(nn.Module):
    """Several heads side by side: (n × n_inputs) → (n × heads·width); the degree is that of W x of all heads."""

    def __init__(self, n_inputs: int, width: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads, self.width = n_heads, width
        self.weight = nn.Parameter(torch.empty(n_inputs, n_heads * width))
        self.receiver = nn.Parameter(torch.empty(n_heads, width))
        self.sender = nn.Parameter(torch.empty(n_heads, width))
        self.bias = nn.Parameter(torch.empty(n_heads * width))
        self.dropout = nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's uniform weights and a bias of 0."""
        for weight in (self.weight, self.receiver, self.sender):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, graph: Graph, degree: Degree) -> Tensor:
        n, (q, i) = x.shape[0], graph.edges(x.device)
        flat = x @ self.weight
        h = flat.view(n, self.n_heads, self.width)
        scores = F.leaky_relu((h * self.receiver).sum(-1)[q] + (h * self.sender).sum(-1)[i], SLOPE)
        attention = self.dropout(softmax_over_neighbors(scores, q, n))
        message = (attention * message_factors(flat, graph, degree)[:, None]).unsqueeze(-1) * h[i]
        return torch.zeros_like(h).index_add(0, q, message).flatten(1) + self.bias


def softmax_over_neighbors(scores: Tensor, q: Tensor, n_nodes: int) -> Tensor:
    """softmax of the scores (edges × heads) over the edges of each node q."""
    places = q[:, None].expand_as(scores)
    lowest = scores.new_full((n_nodes, scores.shape[1]), -torch.inf)
    largest = lowest.scatter_reduce(0, places, scores.detach(), "amax")
    weights = (scores - largest[q]).exp()
    return weights / scores.new_zeros(lowest.shape).index_add(0, q, weights)[q]


class GAT(nn.Module):
    """Two attention layers with ELU between them: eight heads that share the hidden units, then one head."""

    def __init__(self, n_features: int, n_classes: int, hidden: int = 64, dropout: float = 0.6) -> None:
        super().__init__()
        width = max(1, hidden // N_HEADS)
        self.first = AttentionLayer(n_features, width, N_HEADS, dropout)
        self.second = AttentionLayer(N_HEADS * width, n_classes, 1, dropout)
        self.dropout = SparseDropout(dropout)

    def forward(self, X: Tensor, graph: Graph, degree: Degree) -> Tensor:
        hidden = F.elu(self.first(self.dropout(X), graph, degree))
        return self.second(self.dropout(hidden), graph, degree)
