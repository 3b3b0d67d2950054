"""The citation graphs for which accuracies on a public split were published, and a check whether a file holds one of them.

A file named after one of them (``cora.npz``) must have its number of classes. With other numbers of nodes, features or split
nodes it is another edition, which runs as a custom graph and is not compared with published accuracies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grande_gnn.errors import FileFormatError

__all__ = ["CITATION_GRAPHS", "CitationGraph", "identify_graph", "origin_of"]


@dataclass(frozen=True)
class CitationGraph:
    """The expected size of a citation graph, and its source."""

    name: str
    """The file's name without its suffix."""
    title: str
    nodes: int
    features: int
    classes: int
    split: tuple[int, int, int]
    """Nodes for training, validation and test."""
    source: str = "https://github.com/kimiyoung/planetoid (data/ind.*), the split of Yang et al., ICML 2016"


CITATION_GRAPHS: Mapping[str, CitationGraph] = MappingProxyType(
    {
        graph.name: graph
        for graph in (
            CitationGraph("cora", "Cora", 2708, 1433, 7, (140, 500, 1000)),
            CitationGraph("citeseer", "CiteSeer", 3327, 3703, 6, (120, 500, 1000)),
        )
    }
)
"""The graphs by name. To add one, add a line here and its published accuracies in ``split_graphs.PUBLISHED``."""


def identify_graph(
    name: str, shape: tuple[int, ...], n_classes: int, split: tuple[int, int, int]
) -> tuple[CitationGraph | None, str | None]:
    """The citation graph that the file holds; None, with a note, if it is another edition of one."""
    graph = CITATION_GRAPHS.get(name)
    if graph is None:
        return None, None
    if n_classes != graph.classes:
        raise FileFormatError(
            f"{graph.title} has {graph.classes} classes: the labels are of another graph or incomplete; rename the file to "
            f"use it as a custom graph; got {n_classes} classes"
        )
    if (*shape, *split) == (graph.nodes, graph.features, *graph.split):
        return graph, None
    return None, (
        f"{name}: {_described(shape, split)}, but {graph.title} has "
        f"{_described((graph.nodes, graph.features), graph.split)}; it runs as a custom graph and is not compared with "
        "published accuracies"
    )


def origin_of(name: str) -> str:
    """A sentence on where to get a missing graph; ``""`` if its name is unknown."""
    graph = CITATION_GRAPHS.get(name)
    return "" if graph is None else f"; {graph.title} comes from {graph.source}"


def _described(shape: tuple[int, ...], split: tuple[int, int, int]) -> str:
    parts = " + ".join(f"{size:,}" for size in split)
    return f"{shape[0]:,} nodes with {shape[1]:,} features and a split of {parts}"
