"""The systems of the comparison by name: one line for each, imported when it is made.

A new system is a subclass of :class:`~grande_gnn.baselines.base.System` and one :func:`register_system`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from grande_gnn.engine.models import MODELS
from grande_gnn.errors import InvalidInputError

if TYPE_CHECKING:
    from grande_gnn.baselines.base import System

__all__ = ["SYSTEMS", "SystemEntry", "find_system", "register_system"]


@dataclass(frozen=True)
class SystemEntry:
    """One entry of the registry: the name of a system and how to make it."""

    name: str
    description: str
    factory: str | Callable[..., System]
    """The system's class, or ``"module:Class"`` of this package, which is imported when the system is made."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that define this system."""
    paper_column: str | None = None
    """The system's column in table 3 of the paper; None if it is not in the table."""
    models: tuple[str, ...] = ()
    """The graph networks that it runs with; empty for a system that has none."""
    own_graph: bool = True
    """Whether it always runs on the graph in ``options``; otherwise it runs on the graph of the experiment."""
    needs_images: bool = False
    """Whether ``X`` is the paths of images instead of features."""

    def make(self, **params: Any) -> System:
        """A new, unfitted system; ``random_state`` is ignored by systems that draw no random numbers."""
        factory = self.factory
        if isinstance(factory, str):
            module, _, name = factory.partition(":")
            factory = getattr(import_module(f"grande_gnn.baselines.{module}"), name)
        made = factory(**self.options)
        if "random_state" not in made.get_params():
            params.pop("random_state", None)
        return factory(**{**self.options, **params})

    def make_known(self, **params: Any) -> System:
        """A new system with those of ``params`` that it has."""
        known = self.parameters
        return self.make(**{name: value for name, value in params.items() if name in known})

    def changed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Those of ``params`` that the system has and that differ from its own value."""
        known = self.parameters
        return {name: value for name, value in params.items() if name in known and value != known[name]}

    @property
    def parameters(self) -> dict[str, Any]:
        """The system's parameters and their values."""
        return self.make().get_params()

    @property
    def is_random(self) -> bool:
        """Whether it draws random numbers; if not, it gives the same result every time."""
        return "random_state" in self.parameters

    @property
    def title(self) -> str:
        """The system's name as the paper prints it."""
        return self.paper_column or self.name

    @property
    def degree(self) -> str:
        """The degree of a graph network; None for other systems."""
        return self.options["degree"]

    @property
    def graph(self) -> str | None:
        """The graph of a graph network; None if it runs on the graph of the experiment."""
        return self.options["graph"] if self.own_graph else None


_NETWORKS = tuple(name for name, model in reversed(MODELS.items()) if model.is_diffusion)
"""The models that graph systems run with: the diffusion models, smallest first."""


def _graph(
    name: str, description: str, graph: str, degree: str, paper_column: str | None, **more: Any
) -> SystemEntry:
    options = {"graph": graph, "degree": degree}
    network = "graph_networks:GraphNetwork"
    return SystemEntry(name, description, network, options, paper_column, models=_NETWORKS, **more)


def _spread(second: str, paper_column: str) -> SystemEntry:
    description = f"label spreading, then {second} on all samples"
    return SystemEntry(
        f"ls+{second}", description, "label_spreading:SpreadThenClassify", {"second": second}, paper_column
    )


_ENTRIES = [
    SystemEntry("svm", "support vectors, RBF kernel", "supervised:SVM", paper_column="SVM"),
    SystemEntry("opf", "optimum-path forest on the labelled samples", "opf:OPF", paper_column="OPF"),
    SystemEntry("ml-perc", "multi-layer perceptron", "supervised:MLPerceptron", paper_column="ML-Perc."),
    SystemEntry("pl+sgd", "self-training around SGD", "pseudo_labels:PseudoLabels", paper_column="PL+SGD"),
    _spread("knn", "LS+kNN"),
    _spread("svm", "LS+SVM"),
    _spread("opf", "LS+OPF"),
    _spread("ml-perc", "LS+ML-Perc."),
    SystemEntry("gnn-lds", "GCN on a learned graph of Bernoulli edges", "lds:LDS", paper_column="GNN-LDS"),
    SystemEntry(
        "wsef", "rank-correlated samples take weak labels, then SVM", "wsef:WSEF", paper_column="WSEF"
    ),
    _graph("mgcn", "GNN on the graph of re-ranked lists", "mgcn", "centrality", "MGCN"),
    _graph("dgcg", "GNN on the rank-correlation graph", "dgcg", "centrality", "DGCG"),
    _graph(
        "grande", "GNN with the GRaNDe degree, reciprocal kNN graph", "reciprocal", "grande", "GRaNDe (ours)",
        own_graph=False,
    ),
    _graph("d-grande", "GNN with the GRaNDe degree, rank-correlation graph", "dgcg-self", "grande", None),
    SystemEntry("logreg", "multinomial logistic regression", "supervised:LogReg"),
    SystemEntry("knn", "five nearest labelled neighbors", "supervised:KNN"),
    SystemEntry("opf-semi", "optimum-path forest over all samples", "opf:OPFSemi"),
    SystemEntry(
        "comatch", "pseudo-label and embedding graphs co-trained from images", "comatch:CoMatch",
        paper_column="CoMatch", needs_images=True,
    ),
    SystemEntry(
        "grande-adapt", "GRaNDe on a network adapted to the images, with GRaNDe as teacher",
        "adapted_grande:AdaptedGrande", needs_images=True,
    ),
]  # fmt: skip

SYSTEMS: dict[str, SystemEntry] = {entry.name: entry for entry in _ENTRIES}
"""Every system by name, in the order of the paper's table; systems that are not in the table come last."""


def register_system(entry: SystemEntry) -> None:
    """Add a system to the registry; one of the same name is replaced."""
    SYSTEMS[entry.name] = entry


def find_system(name: str) -> SystemEntry:
    """The registry's entry of that name."""
    if name not in SYSTEMS:
        raise InvalidInputError(f"a system must be one of {', '.join(SYSTEMS)}; got {name!r}")
    return SYSTEMS[name]
