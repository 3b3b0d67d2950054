"""Make a Graph from whatever the user has: the name of a kind, ranked lists, a sparse matrix, or a Graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph.graph import Graph
from grande_gnn.graph.kinds import GRAPHS, public_graphs
from grande_gnn.graph.neighbors import Neighbors
from grande_gnn.internal.validation import check_choice, check_integer, check_lists

__all__ = ["build_graph"]


def build_graph(
    source: Any,
    X: NDArray[np.float32] | Neighbors,
    n_neighbors: int = 40,
    *,
    kind: str = "reciprocal",
    device: str = "cpu",
) -> Graph:
    """The graph over the rows of X.

    Parameters
    ----------
    source : a name of :data:`GRAPHS` (built from X), ranked lists (n × L integers, used with ``kind``), a square scipy
        sparse matrix, or a :class:`Graph`.
    X : the features, as they will be trained on, or their :class:`Neighbors`, which are then searched at most once.
    n_neighbors : how many entries of each list count, the sample itself included.
    kind : the kind of graph that ready ranked lists are turned into.
    device : where neighbors of plain features are searched.
    """
    n_neighbors = check_integer(n_neighbors, name="n_neighbors", low=1)
    if isinstance(source, str):
        wanted = GRAPHS[check_choice(source, GRAPHS, name="graph")]
        neighbors = X if isinstance(X, Neighbors) else Neighbors(X, device=device)
        return wanted(neighbors.lists(wanted.length(n_neighbors)), n_neighbors, neighbors.device)
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.dtype.kind in "iu":
        return GRAPHS[check_choice(kind, GRAPHS, name="graph")].build(
            check_lists(source, len(X)), n_neighbors
        )
    graph = Graph.from_scipy(source) if sp.issparse(source) else source
    if not isinstance(graph, Graph):
        raise InvalidInputError(
            f"graph must be one of {', '.join(public_graphs())}, ranked lists (an integer matrix), a scipy sparse matrix "
            f"or a Graph; got {type(source).__name__}"
        )
    if graph.n_nodes != len(X):
        raise InvalidInputError(
            f"the graph must have one node per sample: {len(X)} samples; got {graph.n_nodes} nodes"
        )
    return graph
