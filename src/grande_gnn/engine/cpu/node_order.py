"""Number the nodes so that neighbors are near each other in memory: a hop then finds more of their rows in the cache.

The order is that of Cuthill and McKee (1969), a breadth-first search that begins at the border of the graph. The entries
of a row keep their order, so every sum over neighbors is the same to the last bit.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from grande_gnn.graph import Graph

__all__ = ["NodeOrder", "near_order"]

FAR_BYTES = 16 * 2**20
"""Size of one (n, R, c) array from which on its rows are arranged: about what is left of the cache for it."""


def near_order(graph: Graph, row_bytes: int, device: torch.device) -> NDArray[np.int64] | None:
    """The nodes in the order in which to store their rows; None where the order as given is as fast."""
    if device.type != "cpu" or graph.n_nodes * row_bytes < FAR_BYTES:
        return None
    return reverse_cuthill_mckee(graph.to_scipy(np.int8), symmetric_mode=True).astype(np.int64)


class NodeOrder:
    """Moves arrays whose first dimension is the node from the order of the graph to another one and back."""

    def __init__(self, order: NDArray[np.int64] | None) -> None:
        self._order = None if order is None else torch.from_numpy(order)
        self._place = None if order is None else torch.from_numpy(np.argsort(order))

    def arranged(self, rows: Tensor) -> Tensor:
        """The rows in this order, contiguous."""
        return rows.contiguous() if self._order is None else rows.index_select(0, self._order)

    def restored(self, rows: Tensor) -> Tensor:
        """Arranged rows in the order of the graph."""
        return rows if self._place is None else rows.index_select(0, self._place)

    def places(self, nodes: Tensor) -> Tensor:
        """Where the rows of these nodes are."""
        return nodes if self._place is None else self._place[nodes]
