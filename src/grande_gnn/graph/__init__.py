"""Ranked lists and graphs."""

from grande_gnn.graph.correlation import rank_correlation
from grande_gnn.graph.dgcg import dgcg_edges, dgcg_graph
from grande_gnn.graph.edges import knn_edges, knn_graph, reciprocal_edges, reciprocal_knn_graph
from grande_gnn.graph.graph import Graph
from grande_gnn.graph.neighbors import ranked_lists

__all__ = [
    "Graph",
    "dgcg_edges",
    "dgcg_graph",
    "knn_edges",
    "knn_graph",
    "rank_correlation",
    "ranked_lists",
    "reciprocal_edges",
    "reciprocal_knn_graph",
]
