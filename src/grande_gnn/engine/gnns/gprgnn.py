"""GPR-GNN (Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, ICLR 2021).

    Z = Σ_{k=0…K} γ_k Â^k H⁽⁰⁾,        H⁽⁰⁾ = MLP(X)

The weights γ of the hops are learned. They start as APPNP's, γ_k = α(1 − α)^k and γ_K = (1 − α)^K, so that the first
forward pass is APPNP's. The degree is computed from H⁽⁰⁾.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grande_gnn.degree import Degree
from grande_gnn.engine.sparse_input import SparseDropout, linear
from grande_gnn.graph import Graph
from grande_gnn.propagation import propagate

__all__ = ["GPRGNN", "appnp_coefficients"]


def appnp_coefficients(n_hops: int, alpha: float) -> Tensor:
    """γ of APPNP, which sum to 1.

    >>> [round(weight, 3) for weight in appnp_coefficients(2, 0.1).tolist()]
    [0.1, 0.09, 0.81]
    """
    gamma = alpha * (1 - alpha) ** torch.arange(n_hops + 1, dtype=torch.float64)
    gamma[-1] = (1 - alpha) ** n_hops
    return gamma.float()


class GPRGNN(nn.Module):
    """Two layers, then K hops with learned weights, which have no weight decay."""

    undecayed = ("gamma",)

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        hidden: int = 64,
        n_hops: int = 10,
        alpha: float = 0.1,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(n_features, hidden), nn.Linear(hidden, n_classes)
        self.dropout = SparseDropout(dropout)
        self.n_hops, self.alpha = n_hops, alpha
        self.gamma = nn.Parameter(appnp_coefficients(n_hops, alpha))

    def reset_parameters(self) -> None:
        """The layers reset themselves; γ starts as APPNP's."""
        with torch.no_grad():
            self.gamma.copy_(appnp_coefficients(self.n_hops, self.alpha))

    def forward(self, X: Tensor, graph: Graph, degree: Degree) -> Tensor:
        hidden = linear(self.dropout(X), self.first).relu()
        state = self.second(self.dropout(hidden))
        delta = degree(state, graph)
        total = self.gamma[0] * state
        for weight in self.gamma[1:]:
            state = propagate(state, delta, graph)
            total = total + weight * state
        return total
