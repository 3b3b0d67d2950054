"""Two other ways to spread the head's output H over the graph, each with any degree: measured by gnns.py.

    heat kernel                   Z = Σ_{k=0…K} e^(−t) t^k/k! Â^k H
    personalized PageRank, exact  Z = α (I − (1 − α) Â)⁻¹ H             by conjugate gradients; APPNP stops after K = 10 hops

Both have APPNP's head of two layers. (Klicpera et al., Diffusion Improves Graph Learning, NeurIPS 2019.)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from grande_gnn.propagation import propagate


class _Head(nn.Module):
    """dropout → linear → ReLU → dropout → linear."""

    def __init__(self, n_features: int, n_classes: int, hidden: int = 256, dropout: float = 0.5) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(n_features, hidden), nn.Linear(hidden, n_classes)
        self.dropout = nn.Dropout(dropout)

    def head(self, X: Tensor) -> Tensor:
        return self.second(self.dropout(self.first(self.dropout(X)).relu()))


class HeatKernel(_Head):
    """The heat kernel, cut off after K = 10 hops."""

    t, n_hops = 3.0, 10

    def forward(self, X, graph, degree):
        state = self.head(X)
        delta = degree(state, graph)
        total = math.exp(-self.t) * state
        for k in range(1, self.n_hops + 1):
            state = propagate(state, delta, graph)
            total = total + math.exp(-self.t) * self.t**k / math.factorial(k) * state
        return total


class ExactPPR(_Head):
    """Personalized PageRank to convergence.

    Z is the fixed point of Z = (1 − α) ÂZ + αH. One such step from the solution carries the gradient to Â and H; the
    gradient of Z itself is the solution of the same symmetric system, which a hook computes.
    """

    alpha = 0.1

    def forward(self, X, graph, degree):
        H = self.head(X)
        delta = degree(H, graph)

        def inverse(right: Tensor) -> Tensor:
            with torch.no_grad():
                fixed = delta.detach()
                return solve(lambda z: z - (1 - self.alpha) * propagate(z, fixed, graph), right)

        Z = inverse(self.alpha * H.detach())
        Z = (1 - self.alpha) * propagate(Z, delta, graph) + self.alpha * H
        if Z.requires_grad:
            Z.register_hook(inverse)
        return Z


def solve(A: Callable[[Tensor], Tensor], right: Tensor, tolerance: float = 1e-4, most: int = 60) -> Tensor:
    """A⁻¹ right by conjugate gradients, one system for each column, until every residual is small."""
    x = torch.zeros_like(right)
    residual = right.clone()
    direction, size = residual, (residual * residual).sum(0)
    enough = tolerance**2 * size
    for _ in range(most):
        if bool((size <= enough).all()):
            break
        image = A(direction)
        step = size / (direction * image).sum(0).clamp_min(1e-30)
        x = x + step * direction
        residual = residual - step * image
        new = (residual * residual).sum(0)
        direction, size = residual + new / size.clamp_min(1e-30) * direction, new
    return x


MODULES = {"heat": HeatKernel, "ppr": ExactPPR}
"""The modules by the names that gnns.py gives them."""
