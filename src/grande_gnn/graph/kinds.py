"""The graphs by name, for command lines and estimators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from grande_gnn.graph.dgcg import N_CANDIDATES, dgcg_edges
from grande_gnn.graph.edges import knn_edges, reciprocal_edges
from grande_gnn.graph.graph import Graph

__all__ = ["GRAPHS", "list_length"]


def _dgcg(lists: NDArray[np.int32], n_neighbors: int) -> Graph:
    return dgcg_edges(lists, depth=min(n_neighbors, lists.shape[1]))


GRAPHS: dict[str, Callable[[NDArray[np.int32], int], Graph]] = {
    "reciprocal": reciprocal_edges,  # the paper's
    "knn": knn_edges,
    "dgcg": _dgcg,  # the strongest on the data measured here
}
"""Each builds a graph from ranked lists and ``n_neighbors``."""

_LIST_LENGTH = {"dgcg": N_CANDIDATES}


def list_length(graph: str, n_neighbors: int) -> int:
    """How long the ranked lists of a graph must be."""
    return max(n_neighbors, _LIST_LENGTH.get(graph, 0))
