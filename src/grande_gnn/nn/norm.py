"""Symmetric normalization with the GRaNDe degree, in place of ``gcn_norm``: Â_qi = Ã_qi / √(δ(q) δ(i))."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import add_remaining_self_loops, is_torch_sparse_tensor

from grande_gnn.degree import grande_degree
from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_sigma

__all__ = ["GrandeNorm"]


class GrandeNorm(torch.nn.Module):
    """Symmetric normalization with the GRaNDe degree of ``h``: a ``gcn_norm`` that depends on distances.

    Parameters
    ----------
    sigma : scale of the kernel, > 0; the smaller it is, the weaker the messages of nodes with far neighbors.
    detach : stop the gradient at the degree.

    Examples
    --------
    >>> edge_index = torch.tensor([[0, 1], [1, 0]])
    >>> index, weight = GrandeNorm(sigma=1.0)(torch.tensor([[0.0], [0.0]]), edge_index)
    >>> index.tolist(), (1 / weight).round().tolist()  # two equal nodes: δ = 2 + 1
    ([[0, 1, 0, 1], [1, 0, 0, 1]], [3.0, 3.0, 3.0, 3.0])
    """

    def __init__(self, sigma: float = 0.2, *, detach: bool = False) -> None:
        super().__init__()
        self.sigma = check_sigma(sigma)
        self.detach = detach

    def forward(
        self, h: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the edges with self-loops and their entries of Â, of shape (..., E + loops)."""
        edge_index, edge_weight = _with_loops(edge_index, edge_weight, h.size(-2))
        q, i = edge_index
        precise = h.to(torch.promote_types(h.dtype, torch.float32))  # penalties of 10¹² overflow float16
        neighborhoods = _Neighborhoods(q, i, torch.bincount(q, minlength=h.size(-2)))
        scale = grande_degree(precise, neighborhoods, self.sigma, detach=self.detach).rsqrt()  # type: ignore[arg-type]
        weight = scale[..., q] * scale[..., i]
        if edge_weight is not None:
            weight = weight * edge_weight
        return edge_index, weight.to(h.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sigma={self.sigma:g})"


class _Neighborhoods(NamedTuple):
    """What the degree needs of a graph: its edges (q, i) with i ∈ N(q), and |N(q)|. It need not be symmetric."""

    q: Tensor
    i: Tensor
    degree: Tensor

    @property
    def n_nodes(self) -> int:
        return len(self.degree)

    def edges(self, device: torch.device | str) -> tuple[Tensor, Tensor]:
        return self.q, self.i


def _with_loops(edge_index: Tensor, edge_weight: Tensor | None, n_nodes: int) -> tuple[Tensor, Tensor | None]:
    """The edges as an edge_index with one self-loop per node, and their weights in à (``None``: all 1)."""
    if is_torch_sparse_tensor(edge_index):
        if edge_weight is not None:
            raise InvalidInputError(
                "a sparse tensor holds its edge weights as values: set them there; got edge_weight as well"
            )
        if tuple(edge_index.shape) != (n_nodes, n_nodes):
            raise InvalidInputError(
                f"adj_t must be {n_nodes} x {n_nodes}, one row per node; got shape {tuple(edge_index.shape)}"
            )
        adj_t = edge_index.to_sparse_coo().coalesce()
        edge_index, edge_weight = adj_t.indices().flip(0), adj_t.values()
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or len(edge_index) != 2:
        got = tuple(edge_index.shape) if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise InvalidInputError(f"edge_index must be a 2 x E tensor or a torch sparse tensor; got {got}")
    if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
        raise InvalidInputError(
            f"edge_weight must be one number per edge, shape ({edge_index.size(1)},); got {tuple(edge_weight.shape)}"
        )
    return add_remaining_self_loops(edge_index, edge_weight, 1.0, n_nodes)
