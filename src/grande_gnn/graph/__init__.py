"""Ranked lists and graphs."""

from grande_gnn.graph.build import build_graph
from grande_gnn.graph.dgcg import dgcg_edges, dgcg_graph
from grande_gnn.graph.edges import knn_edges, knn_graph, reciprocal_edges, reciprocal_knn_graph
from grande_gnn.graph.graph import Graph
from grande_gnn.graph.kinds import GRAPHS, list_length
from grande_gnn.graph.neighbors import ranked_lists
from grande_gnn.graph.rank_correlation import rank_correlation

__all__ = [
    "GRAPHS",
    "Graph",
    "build_graph",
    "dgcg_edges",
    "dgcg_graph",
    "knn_edges",
    "knn_graph",
    "list_length",
    "rank_correlation",
    "ranked_lists",
    "reciprocal_edges",
    "reciprocal_knn_graph",
]
