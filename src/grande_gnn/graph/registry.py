"""The graphs by name, for command lines and estimators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from grande_gnn.graph.edges import knn_edges, reciprocal_edges
from grande_gnn.graph.graph import Graph

__all__ = ["GRAPHS", "list_length"]

GRAPHS: dict[str, Callable[[NDArray[np.int32], int], Graph]] = {
    "reciprocal": reciprocal_edges,  # the paper's
    "knn": knn_edges,
}
"""Each builds a graph from ranked lists and ``n_neighbors``."""

_LIST_LENGTH = {"dgcg": 200}


def list_length(graph: str, n_neighbors: int) -> int:
    """How long the ranked lists of a graph must be."""
    return max(n_neighbors, _LIST_LENGTH.get(graph, 0))
