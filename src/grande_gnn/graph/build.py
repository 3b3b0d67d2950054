"""One door from whatever the user has — a name, ranked lists, a matrix, a Graph — to a Graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph.graph import Graph
from grande_gnn.graph.kinds import GRAPHS, list_length
from grande_gnn.graph.neighbors import ranked_lists
from grande_gnn.internal.validation import check_choice, check_integer, check_lists

__all__ = ["build_graph"]


def build_graph(
    source: Any,
    X: NDArray[np.float32],
    n_neighbors: int = 40,
    *,
    kind: str = "reciprocal",
    device: str = "cpu",
) -> Graph:
    """Return the graph over the rows of X.

    Parameters
    ----------
    source : a name of :data:`GRAPHS` (built from X), ranked lists (n × L integers, used with ``kind``),
        a square scipy sparse matrix, or a :class:`Graph`.
    X : the features, as they will be trained on.
    n_neighbors : how many entries of each list count, the sample itself included.
    kind : the graph that ready ranked lists are turned into.
    device : where neighbours are searched.
    """
    n_neighbors = check_integer(n_neighbors, name="n_neighbors", low=1)
    if isinstance(source, str):
        builder = GRAPHS[check_choice(source, GRAPHS, name="graph")]
        return builder(ranked_lists(X, list_length(source, n_neighbors), device=device), n_neighbors)
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.dtype.kind in "iu":
        return GRAPHS[check_choice(kind, GRAPHS, name="graph")](check_lists(source, len(X)), n_neighbors)
    graph = Graph.from_scipy(source) if sp.issparse(source) else source
    if not isinstance(graph, Graph):
        raise InvalidInputError(
            f"graph must be one of {', '.join(GRAPHS)}, ranked lists (an integer matrix), a scipy sparse matrix or a "
            f"Graph; got {type(source).__name__}"
        )
    if graph.n_nodes != len(X):
        raise InvalidInputError(
            f"the graph must have one node a sample: {len(X)} samples; got {graph.n_nodes} nodes"
        )
    return graph
