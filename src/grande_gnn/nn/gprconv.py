"""GPR-GNN's propagation with the GRaNDe degree: Z = Σ γ_k Â^k H⁽⁰⁾ with learned γ (Chien et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor

from grande_gnn.internal.validation import check_integer, check_real
from grande_gnn.nn.learned_degree import LearnedDegreeLayer

__all__ = ["GrandeGPRConv"]


class GrandeGPRConv(LearnedDegreeLayer):
    """K hops whose weights γ are learned; they start as APPNP's, γ_k = α(1 − α)^k and γ_K = (1 − α)^K.

    Parameters
    ----------
    K : number of hops.
    alpha : of the APPNP that γ starts as.
    sigma : scale of the kernel, > 0.
    detach : stop the gradient at the degree.
    cached : must be False; True raises an error that explains why.

    Examples
    --------
    >>> propagation = GrandeGPRConv(K=2, alpha=0.1)
    >>> propagation, [round(weight, 3) for weight in propagation.gamma.tolist()]
    (GrandeGPRConv(K=2, alpha=0.1, sigma=0.2), [0.1, 0.09, 0.81])
    """

    def __init__(
        self,
        K: int = 10,
        alpha: float = 0.1,
        *,
        sigma: float = 0.2,
        detach: bool = False,
        cached: bool = False,
    ) -> None:
        super().__init__(sigma, detach, cached)
        self.K = check_integer(K, name="K", low=0)
        self.alpha = check_real(alpha, name="alpha", low=0.0, high=1.0)
        self.gamma = torch.nn.Parameter(torch.empty(self.K + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set γ to APPNP's weights."""
        super().reset_parameters()
        hop = torch.arange(self.K + 1)
        weights = self.alpha * (1 - self.alpha) ** hop
        weights[-1] = (1 - self.alpha) ** self.K
        with torch.no_grad():
            self.gamma.copy_(weights)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Z, with the shape of ``x``, which is the output of the layers before."""
        edge_index, weight = self.norm(x, edge_index, edge_weight)
        state, total = x, self.gamma[0] * x
        for gamma in self.gamma[1:]:
            state = self.propagate(edge_index, x=state, edge_weight=weight)
            total = total + gamma * state
        return total

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K}, alpha={self.alpha:g}, sigma={self.norm.sigma:g})"
