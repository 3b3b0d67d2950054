"""SGC with the GRaNDe degree, in place of ``SGConv``: Z = Â^K (XW + b)."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.nn import Linear

from grande_gnn.nn.hops import Diffusion

__all__ = ["GrandeSGConv"]


class GrandeSGConv(Diffusion):
    """Simple graph convolution (Wu et al., 2019) with the GRaNDe degree: Z = Â^K H⁽⁰⁾, H⁽⁰⁾ = XW + b.

    The features are transformed first because the degree is computed from H⁽⁰⁾, so the bias is diffused too, as in the
    authors' code; ``SGConv`` adds it last. The parameters are those of ``SGConv``, ``lin.weight`` and ``lin.bias``.

    Parameters
    ----------
    in_channels : features per node, or -1 to infer it from the first input.
    out_channels : outputs per node, the number of classes if this is the last layer.
    K : number of hops; the authors use 2.
    sigma : scale of the kernel, > 0.
    bias : learn b.
    detach : stop the gradient at the degree.
    cached : must be False; True raises an error that explains why.

    Examples
    --------
    >>> import torch
    >>> conv = GrandeSGConv(8, 3)
    >>> conv, conv(torch.rand(4, 8), torch.tensor([[0, 1], [1, 0]])).shape
    (GrandeSGConv(8, 3, K=2, sigma=0.2), torch.Size([4, 3]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        K: int = 2,
        *,
        sigma: float = 0.2,
        bias: bool = True,
        detach: bool = False,
        cached: bool = False,
    ) -> None:
        super().__init__(K, 0.0, 0.0, sigma, detach, cached)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.lin = Linear(in_channels, out_channels, bias=bias)

    def reset_parameters(self) -> None:
        """Draw new values for W and b."""
        super().reset_parameters()
        self.lin.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Z of shape (..., n, out_channels)."""
        return self.diffuse(self.lin(x), edge_index, edge_weight)

    def __repr__(self) -> str:
        channels = f"{self.in_channels}, {self.out_channels}"
        return f"{type(self).__name__}({channels}, K={self.K}, sigma={self.norm.sigma:g})"
