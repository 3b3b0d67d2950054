"""The GRaNDe degree for PyTorch Geometric: layers and a transform to drop into an existing model.

    GrandeNorm            in place of gcn_norm     Â_qi = Ã_qi / √(δ(q) δ(i))
    GrandeSGConv          in place of SGConv       Z = Â^K (XW + b)
    GrandeAPPNP           in place of APPNP        H⁽ᵏ⁾ = (1 − α) Â H⁽ᵏ⁻¹⁾ + α H⁽⁰⁾,  Z = H⁽ᴷ⁾
    ReciprocalKNNGraph    in place of KNNGraph     i – j when each is among the other's k nearest

δ is the degree of :mod:`grande_gnn.degree`, recomputed from the layer's H⁽⁰⁾ in every forward pass.

Common to all of them:

- A graph is an ``edge_index`` (2 × E, column [i, j] sends i's message to j), or a torch sparse tensor (COO, CSR or
  CSC) read as ``adj_t``: rows are targets, columns are sources, stored values are edge weights.
- There is exactly one self-loop per node: missing ones are added with weight 1, given ones keep their weight.
- Edge weights multiply the entries of Ã. The degree ignores them: it counts neighbours and measures distances.
- The graph should be undirected, with both directions given, as in the paper. On a directed graph N(q) is the set of
  nodes that q's edges point *to*, and δ is used at both ends, as in the authors' code; ``gcn_norm`` counts the nodes
  that point to q. After ``torch_geometric.utils.to_undirected`` there is no difference.
- The largest distance is taken over all given edges: a mini-batch of several graphs is one graph here.
- A repeated column is a repeated neighbour, as everywhere in PyTorch Geometric; ``coalesce`` removes it.
- ``x`` may have leading dimensions, (..., n, d): several signals on one graph, each with a degree of its own.

Requires ``pip install "grande-gnn[pyg]"``, but not torch-scatter, torch-sparse or pyg-lib.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from grande_gnn.degree import grande_degree
from grande_gnn.errors import InvalidInputError, MissingDependencyError
from grande_gnn.graph import reciprocal_knn_graph
from grande_gnn.internal.validation import check_integer, check_real, check_sigma

try:
    from torch_geometric.data import Data
    from torch_geometric.nn import Linear, MessagePassing
    from torch_geometric.transforms import BaseTransform
    from torch_geometric.utils import add_remaining_self_loops, is_torch_sparse_tensor
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        f'grande_gnn.nn needs PyTorch Geometric: pip install "grande-gnn[pyg]"; got {error}'
    ) from None

__all__ = ["GrandeAPPNP", "GrandeNorm", "GrandeSGConv", "ReciprocalKNNGraph"]


class GrandeNorm(torch.nn.Module):
    """Symmetric normalization with the GRaNDe degree of ``h``: a ``gcn_norm`` that depends on distances.

    Parameters
    ----------
    sigma : scale of the kernel, > 0; the smaller it is, the weaker the messages of nodes with far neighbours.
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


class _Diffusion(MessagePassing):
    """K hops of Â that return to H⁽⁰⁾ with weight α; SGC is the case α = 0."""

    def __init__(
        self, K: int, alpha: float, dropout: float, sigma: float, detach: bool, cached: bool
    ) -> None:
        if cached:
            raise InvalidInputError(
                "nothing can be cached here, because the GRaNDe degree depends on the layer's own weights and changes in "
                "every epoch: remove cached; got cached=True"
            )
        super().__init__(aggr="add")
        self.K = check_integer(K, name="K", low=0)
        self.alpha = check_real(alpha, name="alpha", low=0.0, high=1.0)
        self.dropout = check_real(dropout, name="dropout", low=0.0, high=1.0)
        self.norm = GrandeNorm(sigma, detach=detach)

    def diffuse(self, h: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        """Z = H⁽ᴷ⁾ from H⁽⁰⁾ = ``h``; the degree is computed once, from H⁽⁰⁾."""
        edge_index, weight = self.norm(h, edge_index, edge_weight)
        z = h
        for _ in range(self.K):
            # Each hop drops entries of the whole Â: dropping from what the last hop kept compounds (PyG issue 10783).
            kept = F.dropout(weight, self.dropout, self.training)
            z = (1 - self.alpha) * self.propagate(edge_index, x=z, edge_weight=kept) + self.alpha * h
        return z

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        """One entry of Â times the state of its sender."""
        return edge_weight.unsqueeze(-1) * x_j


class GrandeSGConv(_Diffusion):
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


class GrandeAPPNP(_Diffusion):
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


class ReciprocalKNNGraph(BaseTransform):
    """Join two nodes when each is among the other's ``k`` nearest: ``data.x`` → ``data.edge_index``.

    The neighbours are exact and Euclidean, found without torch-cluster; the graph is undirected. In a batch of graphs
    each is treated on its own. Existing edges and edge attributes are replaced.

    Parameters
    ----------
    k : neighbours per node, *including the node itself*, as everywhere in this package: ``k=40``, as in the paper, means
        39 others, whereas ``KNNGraph(k=40)`` means 40.
    attr : the attribute on which distances are measured, ``"x"`` or for example ``"pos"``.
    loop : keep the self-loops in ``edge_index``. The layers add them anyway.

    Examples
    --------
    >>> data = Data(x=torch.tensor([[0.0], [1.0], [3.0]]))
    >>> ReciprocalKNNGraph(k=2)(data).edge_index.tolist()
    [[0, 1], [1, 0]]
    """

    def __init__(self, k: int = 40, *, attr: str = "x", loop: bool = False) -> None:
        self.k = check_integer(k, name="k", low=1)
        self.attr = attr
        self.loop = loop

    def forward(self, data: Data) -> Data:
        """Set ``data.edge_index``."""
        features = getattr(data, self.attr, None)
        if not isinstance(features, Tensor):
            raise InvalidInputError(
                f"data.{self.attr} must hold the features to measure distances on, or another attribute is named by attr=; "
                f"got {features!r}"
            )
        batch = getattr(data, "batch", None)
        everyone = torch.arange(len(features), device=features.device)
        graphs = [everyone] if batch is None else [everyone[batch == b] for b in batch.unique()]
        for name in ("edge_attr", "edge_weight", "adj_t"):
            if name in data:
                del data[name]
        data.edge_index = torch.cat([nodes[self._edges(features[nodes])] for nodes in graphs], dim=1)
        return data

    def _edges(self, features: Tensor) -> Tensor:
        graph = reciprocal_knn_graph(features.detach().cpu().numpy(), self.k, device=features.device.type)
        q, i = graph.edges(features.device)
        return torch.stack((q, i)) if self.loop else torch.stack((q, i))[:, q != i]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k})"
