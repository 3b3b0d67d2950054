"""GCN (Kipf & Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017).

    Z = Â ReLU(Â X W₁ + b₁) W₂ + b₂,        Â = D^(−½)(A + I)D^(−½),  D = diag(δ)

Each layer has a degree of its own, computed from X W before it is spread.
"""

from __future__ import annotations

from torch import Tensor, nn

from grande_gnn.degree import Degree
from grande_gnn.engine.gnns.convolution import GraphConvolution
from grande_gnn.engine.sparse_input import SparseDropout
from grande_gnn.graph import Graph

__all__ = ["GCN"]


class GCN(nn.Module):
    """Two graph convolutions with ReLU and dropout before each; only the first layer has weight decay."""

    undecayed = ("second.weight", "second.bias")

    def __init__(self, n_features: int, n_classes: int, hidden: int = 16, dropout: float = 0.5) -> None:
        super().__init__()
        self.first = GraphConvolution(n_features, hidden)
        self.second = GraphConvolution(hidden, n_classes)
        self.dropout = SparseDropout(dropout)

    def forward(self, X: Tensor, graph: Graph, degree: Degree) -> Tensor:
        hidden = self.first(self.dropout(X), graph, degree).relu()
        return self.second(self.dropout(hidden), graph, degree)
