"""Label many images from few labels with diffusion GNNs and the GRaNDe degree.

Nothing heavy is imported until it is used, so that ``grande --help`` answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "GrandeClassifier": "grande_gnn.classifier.estimator",
    "LabelledKFold": "grande_gnn.classifier.splits",
    "labelled_accuracy": "grande_gnn.classifier.splits",
    "degree_centrality": "grande_gnn.degree",
    "grande_degree": "grande_gnn.degree",
    "grande_norm": "grande_gnn.propagation",
    "Graph": "grande_gnn.graph",
    "dgcg_graph": "grande_gnn.graph",
    "knn_graph": "grande_gnn.graph",
    "ranked_lists": "grande_gnn.graph",
    "reciprocal_knn_graph": "grande_gnn.graph",
    "evaluate": "grande_gnn.experiments",
}

__all__ = [*_HOME, "__version__"]

if TYPE_CHECKING:
    from grande_gnn.classifier.estimator import GrandeClassifier
    from grande_gnn.classifier.splits import LabelledKFold, labelled_accuracy
    from grande_gnn.degree import degree_centrality, grande_degree
    from grande_gnn.experiments import evaluate
    from grande_gnn.graph import Graph, dgcg_graph, knn_graph, ranked_lists, reciprocal_knn_graph
    from grande_gnn.propagation import grande_norm


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'grande_gnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
