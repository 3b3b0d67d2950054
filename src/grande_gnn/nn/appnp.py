"""APPNP with the GRaNDe degree, in place of ``APPNP``: H⁽ᵏ⁾ = (1 − α) Â H⁽ᵏ⁻¹⁾ + α H⁽⁰⁾,  Z = H⁽ᴷ⁾."""

from __future__ import annotations

from torch import Tensor

from grande_gnn.nn.hops import Diffusion

__all__ = ["GrandeAPPNP"]


class GrandeAPPNP(Diffusion):
    """Personalized propagation of predictions (Gasteiger et al., 2019) with the GRaNDe degree of its input.

    Parameters
    ----------
    K : number of hops; the authors use 10.
    alpha : weight of the return to the input after every hop.
    dropout : fraction of the entries of Â left out of each hop in training, drawn independently for each hop. The
        authors drop features in the layers before, never edges. Keyword only, because ``APPNP`` has it at a position
        where this layer has another parameter.
    sigma : scale of the kernel, > 0.
    detach : stop the gradient at the degree.
    cached : must be False; True raises an error that explains why.

    Examples
    --------
    >>> import torch
    >>> propagation = GrandeAPPNP(K=10, alpha=0.1)
    >>> propagation, propagation(torch.rand(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
    (GrandeAPPNP(K=10, alpha=0.1, sigma=0.2), torch.Size([4, 3]))
    """

    def __init__(
        self,
        K: int = 10,
        alpha: float = 0.1,
        *,
        dropout: float = 0.0,
        sigma: float = 0.2,
        detach: bool = False,
        cached: bool = False,
    ) -> None:
        super().__init__(K, alpha, dropout, sigma, detach, cached)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Z, with the shape of ``x``, which is the output of the layers before."""
        return self.diffuse(x, edge_index, edge_weight)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K}, alpha={self.alpha:g}, sigma={self.norm.sigma:g})"
