"""Graph convolution with the GRaNDe degree, in place of ``GCNConv``: Z = Â X W + b (Kipf & Welling, 2017)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import Linear

from grande_gnn.nn.learned_degree import LearnedDegreeLayer

__all__ = ["GrandeGCNConv"]


class GrandeGCNConv(LearnedDegreeLayer):
    """Z = Â H⁽⁰⁾ + b with H⁽⁰⁾ = XW, from which the degree is computed. The parameters are those of ``GCNConv``.

    Parameters
    ----------
    in_channels : features per node, or -1 to infer it from the first input.
    out_channels : outputs per node.
    sigma : scale of the kernel, > 0.
    bias : learn b.
    detach : stop the gradient at the degree.
    cached : must be False; True raises an error that explains why.

    Examples
    --------
    >>> conv = GrandeGCNConv(8, 3)
    >>> conv, conv(torch.rand(4, 8), torch.tensor([[0, 1], [1, 0]])).shape
    (GrandeGCNConv(8, 3, sigma=0.2), torch.Size([4, 3]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        sigma: float = 0.2,
        bias: bool = True,
        detach: bool = False,
        cached: bool = False,
    ) -> None:
        super().__init__(sigma, detach, cached)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = torch.nn.Parameter(torch.zeros(out_channels)) if bias else None

    def reset_parameters(self) -> None:
        """Draw new values for W and set b to 0."""
        super().reset_parameters()
        self.lin.reset_parameters()
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Z of shape (..., n, out_channels)."""
        h = self.lin(x)
        edge_index, weight = self.norm(h, edge_index, edge_weight)
        z = self.propagate(edge_index, x=h, edge_weight=weight)
        return z if self.bias is None else z + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, sigma={self.norm.sigma:g})"
