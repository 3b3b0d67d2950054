"""GraphSAGE's mean with the GRaNDe degree, in place of ``SAGEConv`` (Hamilton et al., 2017).

    z_q = x_q V + mean over the neighbors i of q of √(r(q) r(i)) x_i W + b,    r = |N|/δ

The node itself is not one of its neighbors in the mean. If δ were the degree centrality |N|, r would be 1 and the layer
``SAGEConv``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import Linear

from grande_gnn.nn.learned_degree import LearnedDegreeLayer

__all__ = ["GrandeSAGEConv"]


class GrandeSAGEConv(LearnedDegreeLayer):
    """The node itself and the mean of its neighbors, each message weakened by the degrees of its two ends.

    Parameters
    ----------
    in_channels : features per node, or -1 to infer it from the first input.
    out_channels : outputs per node.
    sigma : scale of the kernel, > 0; the degree is computed from x W.
    bias : learn b.
    detach : stop the gradient at the degree.
    cached : must be False; True raises an error that explains why.

    Examples
    --------
    >>> conv = GrandeSAGEConv(8, 3)
    >>> conv, conv(torch.rand(4, 8), torch.tensor([[0, 1], [1, 0]])).shape
    (GrandeSAGEConv(8, 3, sigma=0.2), torch.Size([4, 3]))
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
        self.lin_l = Linear(in_channels, out_channels, bias=False)
        self.lin_r = Linear(in_channels, out_channels, bias=bias)

    def reset_parameters(self) -> None:
        """Draw new values for both weights and the bias."""
        super().reset_parameters()
        self.lin_l.reset_parameters()
        self.lin_r.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Z of shape (..., n, out_channels)."""
        h = self.lin_l(x)
        edge_index, factors = self.message_factors(h, edge_index, edge_weight)
        sender, receiver = edge_index
        others = sender != receiver
        count = torch.bincount(receiver[others], minlength=h.size(-2)).clamp_min(1).to(h.dtype)
        total = self.propagate(edge_index[:, others], x=h, edge_weight=factors[..., others])
        return self.lin_r(x) + total / count[:, None]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, sigma={self.norm.sigma:g})"
