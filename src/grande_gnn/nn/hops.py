"""K hops of Â, which SGC and APPNP share."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from grande_gnn.internal.validation import check_integer, check_real
from grande_gnn.nn.learned_degree import LearnedDegreeLayer

__all__ = ["Diffusion"]


class Diffusion(LearnedDegreeLayer):
    """K hops of Â that return to H⁽⁰⁾ with weight α; SGC is the case α = 0."""

    def __init__(
        self, K: int, alpha: float, dropout: float, sigma: float, detach: bool, cached: bool
    ) -> None:
        super().__init__(sigma, detach, cached)
        self.K = check_integer(K, name="K", low=0)
        self.alpha = check_real(alpha, name="alpha", low=0.0, high=1.0)
        self.dropout = check_real(dropout, name="dropout", low=0.0, high=1.0)

    def diffuse(self, h: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        """Z = H⁽ᴷ⁾ from H⁽⁰⁾ = ``h``; the degree is computed once, from H⁽⁰⁾."""
        edge_index, weight = self.norm(h, edge_index, edge_weight)
        z = h
        for _ in range(self.K):
            # Each hop drops entries of the whole Â: dropping from what the last hop kept compounds (PyG issue 10783).
            kept = F.dropout(weight, self.dropout, self.training)
            z = (1 - self.alpha) * self.propagate(edge_index, x=z, edge_weight=kept) + self.alpha * h
        return z
