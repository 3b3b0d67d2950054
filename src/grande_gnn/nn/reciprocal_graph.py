"""Reciprocal neighbors as edges, in place of ``KNNGraph``: i – j when each is among the other's k nearest."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import reciprocal_knn_graph
from grande_gnn.internal.validation import check_integer

__all__ = ["ReciprocalKNNGraph"]


class ReciprocalKNNGraph(BaseTransform):
    """Join two nodes when each is among the other's ``k`` nearest: ``data.x`` → ``data.edge_index``.

    The neighbors are exact and Euclidean, found without torch-cluster; the graph is undirected. In a batch of graphs
    each is treated on its own. Existing edges and edge attributes are replaced.

    Parameters
    ----------
    k : neighbors per node, *including the node itself*, as everywhere in this package: ``k=40``, as in the paper, means
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
