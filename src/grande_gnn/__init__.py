"""Label many images from few labels with diffusion GNNs and the GRaNDe degree.

Nothing heavy is imported until it is used, so that ``grande --help`` answers at once.
"""

from typing import TYPE_CHECKING

from grande_gnn.internal.lazy import lazy_names
from grande_gnn.internal.moved import install

if TYPE_CHECKING:
    from grande_gnn.classifier.estimator import GrandeClassifier
    from grande_gnn.classifier.splits import LabelledKFold, labelled_accuracy
    from grande_gnn.degree import degree_centrality, grande_degree
    from grande_gnn.experiments.evaluate import evaluate
    from grande_gnn.graph import Graph, dgcg_graph, knn_graph, ranked_lists, reciprocal_knn_graph
    from grande_gnn.labelling import Labelling, LabelOptions, label_features, label_images
    from grande_gnn.propagation import grande_norm

__version__ = "0.2.0"

_HOMES = {
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
    "evaluate": "grande_gnn.experiments.evaluate",
    "LabelOptions": "grande_gnn.labelling",
    "Labelling": "grande_gnn.labelling",
    "label_features": "grande_gnn.labelling",
    "label_images": "grande_gnn.labelling",
}
"""Each public name and the module that defines it."""

__all__ = [*_HOMES, "__version__"]

__getattr__, _ = lazy_names(__name__, _HOMES)
install()  # import paths of version 0.1


def __dir__() -> list[str]:
    return sorted(__all__)
