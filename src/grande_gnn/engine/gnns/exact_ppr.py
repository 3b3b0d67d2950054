"""Personalized PageRank to convergence (Klicpera et al., Predict then Propagate, ICLR 2019: PPNP).

    Z = α (I − (1 − α) Â)⁻¹ H⁽⁰⁾,        H⁽⁰⁾ = MLP(X)

APPNP stops after K hops; this is what it approaches. The system is symmetric and positive definite, so conjugate gradients
solve it. Z is the fixed point of Z = (1 − α) ÂZ + αH⁽⁰⁾: one such step from the solution carries the gradient to Â and
H⁽⁰⁾, and the gradient of Z itself solves the same system. The degree is computed from H⁽⁰⁾.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from grande_gnn.degree import Degree
from grande_gnn.engine.sparse_input import SparseDropout, linear
from grande_gnn.graph import Graph
from grande_gnn.propagation import propagate

__all__ = ["ExactPPR", "solve"]

TOLERANCE = 1e-4
"""A system counts as solved when the residual is this small, relative to the right-hand side."""
MOST_STEPS = 60
"""Enough for α ≥ 0.05: the error falls by the factor (√κ − 1)/(√κ + 1) in each step, with κ at most (2 − α)/α."""


class ExactPPR(nn.Module):
    """Two layers, then personalized PageRank to convergence."""

    def __init__(
        self, n_features: int, n_classes: int, hidden: int = 64, alpha: float = 0.1, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(n_features, hidden), nn.Linear(hidden, n_classes)
        self.dropout = SparseDropout(dropout)
        self.alpha = alpha

    def forward(self, X: Tensor, graph: Graph, degree: Degree) -> Tensor:
        hidden = linear(self.dropout(X), self.first).relu()
        H = self.second(self.dropout(hidden))
        delta = degree(H, graph)

        def inverse(right: Tensor) -> Tensor:
            """(I − (1 − α) Â)⁻¹ right."""
            with torch.no_grad():
                fixed = delta.detach()
                return solve(lambda z: z - (1 - self.alpha) * propagate(z, fixed, graph), right)

        Z = inverse(self.alpha * H.detach())
        Z = (1 - self.alpha) * propagate(Z, delta, graph) + self.alpha * H
        if Z.requires_grad:
            Z.register_hook(inverse)
        return Z


def solve(A: Callable[[Tensor], Tensor], right: Tensor) -> Tensor:
    """A⁻¹ right by conjugate gradients, one system for each column, until every residual is small."""
    x = torch.zeros_like(right)
    residual = right.clone()
    direction, size = residual, (residual * residual).sum(0)
    enough = TOLERANCE**2 * size
    for _ in range(MOST_STEPS):
        if bool((size <= enough).all()):
            break
        product = A(direction)
        step = size / (direction * product).sum(0).clamp_min(1e-30)
        x = x + step * direction
        residual = residual - step * product
        new = (residual * residual).sum(0)
        direction, size = residual + new / size.clamp_min(1e-30) * direction, new
    return x
