"""What every layer with the GRaNDe degree has: the degree of its own output, which nothing may cache."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing

from grande_gnn.errors import InvalidInputError
from grande_gnn.nn.norm import GrandeNorm

__all__ = ["LearnedDegreeLayer"]


class LearnedDegreeLayer(MessagePassing):
    """A layer that sends messages along the edges of Â; ``norm`` computes Â from H⁽⁰⁾ in every forward pass."""

    def __init__(self, sigma: float, detach: bool, cached: bool) -> None:
        if cached:
            raise InvalidInputError(
                "nothing can be cached here, because the GRaNDe degree depends on the layer's own weights and changes in "
                "every epoch: remove cached; got cached=True"
            )
        super().__init__(aggr="add")
        self.norm = GrandeNorm(sigma, detach=detach)

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        """One entry of Â times the state of its sender."""
        return edge_weight.unsqueeze(-1) * x_j

    def message_factors(
        self, h: Tensor, edge_index: Tensor, edge_weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The edges with self-loops, and √(r(q) r(i)) of each, r = |N|/δ: what the degree does to a message of GCN.

        Edge weights multiply these factors, as they multiply the entries of Ã.
        """
        edge_index, entries = self.norm(h, edge_index, edge_weight)
        count = torch.bincount(edge_index[0], minlength=h.size(-2)).to(h.dtype).sqrt()
        return edge_index, entries * count[edge_index[0]] * count[edge_index[1]]
