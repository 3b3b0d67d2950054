"""The graphs by name: one registry for the estimator, the command line and the experiments.

A new kind is one function from ranked lists to a :class:`~grande_gnn.Graph` and one line here, or
:func:`register_graph` in a module of your own. The builders import what they need when they run, so that reading the
names costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from grande_gnn.graph.graph import Graph

__all__ = ["GRAPHS", "GraphKind", "list_length", "public_graphs", "register_graph"]


@dataclass(frozen=True)
class GraphKind:
    """A graph that can be asked for by name."""

    name: str
    build: Callable[..., Graph]
    """Builds the graph from ranked lists and ``n_neighbors``, and from a device if it ``uses_device``."""
    summary: str
    list_length: int = 0
    """Entries of each ranked list that it needs even where ``n_neighbors`` is smaller."""
    public: bool = True
    """Whether estimators and commands offer it; the others belong to a system of the comparison."""
    uses_device: bool = False
    """Whether ``build`` takes the name of a device as its third argument."""

    def length(self, n_neighbors: int) -> int:
        """How long its ranked lists must be."""
        return max(n_neighbors, self.list_length)

    def __call__(self, lists: NDArray[np.int32], n_neighbors: int, device: str = "cpu") -> Graph:
        where = (device,) if self.uses_device else ()
        return self.build(lists[:, : self.length(n_neighbors)], n_neighbors, *where)


def _reciprocal(lists: NDArray[np.int32], n_neighbors: int) -> Graph:
    from grande_gnn.graph.edges import reciprocal_edges

    return reciprocal_edges(lists, n_neighbors)


def _knn(lists: NDArray[np.int32], n_neighbors: int) -> Graph:
    from grande_gnn.graph.edges import knn_edges

    return knn_edges(lists, n_neighbors)


def _dgcg(lists: NDArray[np.int32], n_neighbors: int, device: str = "cpu") -> Graph:
    from grande_gnn.graph.dgcg import dgcg_edges

    return dgcg_edges(lists, depth=_depth(lists, n_neighbors), device=device)


def _dgcg_self(lists: NDArray[np.int32], n_neighbors: int, device: str = "cpu") -> Graph:
    from grande_gnn.graph.dgcg import dgcg_edges

    return dgcg_edges(lists, depth=_depth(lists, n_neighbors), count_self=True, device=device)


def _depth(lists: NDArray[np.int32], n_neighbors: int) -> int:
    """The depth of rank correlations: they compare no more than the candidates of each list."""
    from grande_gnn.graph.dgcg import N_CANDIDATES

    return min(n_neighbors, lists.shape[1], N_CANDIDATES)


def _mgcn(lists: NDArray[np.int32], n_neighbors: int) -> Graph:
    from grande_gnn.graph.mgcn import mgcn_edges

    return mgcn_edges(lists, n_neighbors)


GRAPHS: dict[str, GraphKind] = {
    kind.name: kind
    for kind in (
        GraphKind("reciprocal", _reciprocal, "both name each other: the paper's"),
        GraphKind("knn", _knn, "either names the other"),
        GraphKind(
            "dgcg",
            _dgcg,
            "ranked lists agree: the strongest on the data measured here",
            200,
            uses_device=True,
        ),
        GraphKind("dgcg-self", _dgcg_self, "dgcg with a density that counts self edges", 200, False, True),
        GraphKind("mgcn", _mgcn, "reciprocal after re-ranking the lists", 400, public=False),
    )
}
"""Every kind of graph by name."""


def register_graph(kind: GraphKind) -> None:
    """Add a kind of graph; a name that is taken is replaced."""
    GRAPHS[kind.name] = kind


def public_graphs() -> list[str]:
    """The names that estimators and commands offer."""
    return [name for name, kind in GRAPHS.items() if kind.public]


def list_length(graph: str, n_neighbors: int) -> int:
    """How long the ranked lists of a graph must be."""
    return GRAPHS[graph].length(n_neighbors)
