"""Graph attention with the GRaNDe degree, in place of ``GATConv`` (Veličković et al., 2018).

    z_q = Σ_{i ∈ N(q)} α(q, i) √(r(q) r(i)) W x_i + b,    r = |N|/δ

α are the attention weights of ``GATConv``. If δ were the degree centrality |N|, r would be 1 and the layer ``GATConv``.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import Linear
from torch_geometric.utils import softmax

from grande_gnn.internal.validation import check_integer, check_real
from grande_gnn.nn.learned_degree import LearnedDegreeLayer

__all__ = ["GrandeGATConv"]


class GrandeGATConv(LearnedDegreeLayer):
    """Attention of several heads, each message weakened by the degrees of its two ends.

    Parameters
    ----------
    in_channels : features per node, or -1 to infer it from the first input.
    out_channels : outputs per node and head.
    heads : number of heads.
    concat : put the heads side by side; False takes their mean.
    negative_slope : of the leaky ReLU of the attention scores.
    dropout : of the attention weights, in training.
    sigma : scale of the kernel, > 0; the degree is computed from W x of all heads.
    bias : learn b.
    detach : stop the gradient at the degree.
    cached : must be False; True raises an error that explains why.

    Examples
    --------
    >>> conv = GrandeGATConv(8, 3, heads=2)
    >>> conv, conv(torch.rand(4, 8), torch.tensor([[0, 1], [1, 0]])).shape
    (GrandeGATConv(8, 3, heads=2, sigma=0.2), torch.Size([4, 6]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        *,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        sigma: float = 0.2,
        bias: bool = True,
        detach: bool = False,
        cached: bool = False,
    ) -> None:
        super().__init__(sigma, detach, cached)
        self.in_channels, self.out_channels, self.concat = in_channels, out_channels, concat
        self.heads = check_integer(heads, name="heads", low=1)
        self.negative_slope = check_real(negative_slope, name="negative_slope")
        self.dropout = check_real(dropout, name="dropout", low=0.0, high=1.0)
        self.lin = Linear(in_channels, heads * out_channels, bias=False, weight_initializer="glorot")
        self.att_src = torch.nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = torch.nn.Parameter(torch.empty(1, heads, out_channels))
        width = heads * out_channels if concat else out_channels
        self.bias = torch.nn.Parameter(torch.zeros(width)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for W and the attention, and set b to 0."""
        super().reset_parameters()
        self.lin.reset_parameters()
        torch.nn.init.xavier_uniform_(self.att_src)
        torch.nn.init.xavier_uniform_(self.att_dst)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Z of shape (n, heads · out_channels), or (n, out_channels) for the mean of the heads."""
        flat = self.lin(x)
        h = flat.view(-1, self.heads, self.out_channels)
        edge_index, factors = self.message_factors(flat, edge_index, edge_weight)
        sender, receiver = edge_index
        scores = (h * self.att_src).sum(-1)[sender] + (h * self.att_dst).sum(-1)[receiver]
        attention = softmax(F.leaky_relu(scores, self.negative_slope), receiver, num_nodes=len(h))
        attention = F.dropout(attention, self.dropout, self.training) * factors[:, None]
        z = torch.zeros_like(h).index_add(0, receiver, attention[:, :, None] * h[sender])
        z = z.flatten(1) if self.concat else z.mean(1)
        return z if self.bias is None else z + self.bias

    def __repr__(self) -> str:
        channels = f"{self.in_channels}, {self.out_channels}, heads={self.heads}"
        return f"{type(self).__name__}({channels}, sigma={self.norm.sigma:g})"
