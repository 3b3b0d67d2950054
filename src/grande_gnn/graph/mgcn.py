"""The graph of Manifold-GCN: reciprocal nearest neighbors of *re-ranked* lists.

Manifold learning moves edges only; features and training stay as they are. Which re-ranker and list length the paper
used for its cells is not published: LHRR over the first 400 entries is the default here, and
:data:`~grande_gnn.graph.rerank.RERANKERS` has the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph.edges import reciprocal_edges
from grande_gnn.graph.graph import Graph
from grande_gnn.graph.neighbors import ranked_lists
from grande_gnn.graph.rerank import RERANKERS
from grande_gnn.internal.validation import check_choice

__all__ = ["mgcn_edges", "mgcn_graph"]


def mgcn_edges(lists: NDArray[np.int32], n_neighbors: int = 40, *, reranker: str = "lhrr") -> Graph:
    """Re-rank the lists, then join i and j when each names the other among its first ``n_neighbors``."""
    rerank = RERANKERS[check_choice(reranker, RERANKERS, name="reranker")]
    return reciprocal_edges(rerank(lists), n_neighbors)


def mgcn_graph(
    features: ArrayLike,
    n_neighbors: int = 40,
    *,
    reranker: str = "lhrr",
    length: int = 400,
    device: str = "cpu",
) -> Graph:
    """The graph of the features; ``length`` entries of each ranked list are re-ranked."""
    return mgcn_edges(ranked_lists(features, length, device=device), n_neighbors, reranker=reranker)
