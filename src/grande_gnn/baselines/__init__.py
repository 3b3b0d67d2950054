"""Every system of the comparison behind one protocol, listed in one registry.

>>> import numpy as np
>>> from grande_gnn.baselines import SYSTEMS
>>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
>>> SYSTEMS["opf"].make().fit(X, ["low", "", "high", ""]).transduction_.tolist()
['low', 'low', 'high', 'high']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grande_gnn.errors import InvalidInputError

if TYPE_CHECKING:
    from grande_gnn.baselines.base import System

__all__ = ["SYSTEMS", "SystemEntry", "find_system"]


@dataclass(frozen=True)
class SystemEntry:
    """One line of the registry: what a system is called and how to make it; imported when made."""

    name: str
    description: str
    module: str
    factory: str
    options: Mapping[str, Any] = field(default_factory=dict)
    paper_column: str | None = None
    """The system's column in table 3 of the paper; None where the paper has none."""
    models: tuple[str, ...] = ()
    """The graph networks it runs with, for the systems that build a graph."""
    needs_images: bool = False
    """Whether ``X`` is the paths of images instead of features."""

    def make(self, **params: Any) -> System:
        """A new, unfitted system; ``random_state`` is dropped by those that use no chance."""
        cls = getattr(import_module(f"grande_gnn.baselines.{self.module}"), self.factory)
        params = {**self.options, **params}
        if "random_state" not in cls._get_param_names():
            params.pop("random_state", None)
        return cls(**params)


def _graph(name: str, description: str, graph: str, degree: str, paper_column: str | None) -> SystemEntry:
    options = {"graph": graph, "degree": degree}
    return SystemEntry(
        name, description, "graph_networks", "GraphNetwork", options, paper_column, models=("sgc", "appnp")
    )


def _spread(second: str, paper_column: str) -> SystemEntry:
    description = f"label spreading, then {second} on all samples"
    return SystemEntry(
        f"ls+{second}", description, "label_spreading", "SpreadThenClassify", {"second": second}, paper_column
    )


_ENTRIES = [
    SystemEntry("svm", "support vectors, RBF kernel", "supervised", "SVM", paper_column="SVM"),
    SystemEntry("opf", "optimum-path forest on the labelled samples", "opf", "OPF", paper_column="OPF"),
    SystemEntry("ml-perc", "multi-layer perceptron", "supervised", "MLPerceptron", paper_column="ML-Perc."),
    SystemEntry("pl+sgd", "self-training around SGD", "pseudo_labels", "PseudoLabels", paper_column="PL+SGD"),
    _spread("knn", "LS+kNN"),
    _spread("svm", "LS+SVM"),
    _spread("opf", "LS+OPF"),
    _spread("ml-perc", "LS+ML-Perc."),
    SystemEntry("gnn-lds", "GCN on a learned graph of Bernoulli edges", "lds", "LDS", paper_column="GNN-LDS"),
    SystemEntry(
        "wsef", "rank-correlated samples take weak labels, then SVM", "wsef", "WSEF", paper_column="WSEF"
    ),
    _graph("mgcn", "GNN on the graph of re-ranked lists", "mgcn", "centrality", "MGCN"),
    _graph("dgcg", "GNN on the rank-correlation graph", "dgcg", "centrality", "DGCG"),
    _graph(
        "grande", "GNN with the GRaNDe degree, reciprocal kNN graph", "reciprocal", "grande", "GRaNDe (ours)"
    ),
    _graph("d-grande", "GNN with the GRaNDe degree, rank-correlation graph", "dgcg-self", "grande", None),
    SystemEntry("logreg", "multinomial logistic regression", "supervised", "LogReg"),
    SystemEntry("knn", "five nearest labelled neighbours", "supervised", "KNN"),
    SystemEntry("opf-semi", "optimum-path forest over all samples", "opf", "OPFSemi"),
    SystemEntry(
        "comatch",
        "pseudo-label and embedding graphs co-trained from images",
        "comatch",
        "CoMatch",
        paper_column="CoMatch",
        needs_images=True,
    ),
]

SYSTEMS: Mapping[str, SystemEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Every system by name, in the order of the paper's table, ours and the unpublished ones last."""


def find_system(name: str) -> SystemEntry:
    """The registry's entry of that name."""
    if name not in SYSTEMS:
        raise InvalidInputError(f"a system must be one of {', '.join(SYSTEMS)}; got {name!r}")
    return SYSTEMS[name]
