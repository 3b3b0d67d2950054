"""Neighbors and graphs. Names are imported when they are first used, so that reading the registry costs nothing."""

from typing import TYPE_CHECKING

from grande_gnn.internal.lazy import lazy_names

if TYPE_CHECKING:
    from grande_gnn.graph.build import build_graph
    from grande_gnn.graph.correlation import rank_correlation
    from grande_gnn.graph.dgcg import dgcg_edges, dgcg_graph
    from grande_gnn.graph.edges import knn_edges, knn_graph, reciprocal_edges, reciprocal_knn_graph
    from grande_gnn.graph.graph import Graph
    from grande_gnn.graph.kinds import GRAPHS, GraphKind, list_length, register_graph
    from grande_gnn.graph.mgcn import mgcn_graph
    from grande_gnn.graph.neighbors import Neighbors, ranked_lists

__all__ = [
    "GRAPHS",
    "Graph",
    "GraphKind",
    "Neighbors",
    "build_graph",
    "dgcg_edges",
    "dgcg_graph",
    "knn_edges",
    "knn_graph",
    "list_length",
    "mgcn_graph",
    "rank_correlation",
    "ranked_lists",
    "reciprocal_edges",
    "reciprocal_knn_graph",
    "register_graph",
]

_HOMES = {
    "GRAPHS": "kinds", "GraphKind": "kinds", "list_length": "kinds", "register_graph": "kinds",
    "Graph": "graph", "Neighbors": "neighbors", "ranked_lists": "neighbors", "build_graph": "build",
    "dgcg_edges": "dgcg", "dgcg_graph": "dgcg", "mgcn_graph": "mgcn", "rank_correlation": "correlation",
    "knn_edges": "edges", "knn_graph": "edges", "reciprocal_edges": "edges", "reciprocal_knn_graph": "edges",
}  # fmt: skip

__getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
