"""Normalize features, search neighbors and build graphs only once for all candidates that share them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.engine import Settings
from grande_gnn.engine.degrees import as_degree
from grande_gnn.graph import Graph, Neighbors, build_graph
from grande_gnn.graph.kinds import GRAPHS
from grande_gnn.graph.neighbors import SearchBackend

__all__ = ["AUTO", "Choice", "Preparation"]

AUTO = "auto"
"""The value of a setting that is to be chosen automatically."""


@dataclass(frozen=True)
class Choice:
    """The settings that can be chosen automatically; ``"auto"`` in a field leaves it open."""

    graph: str
    n_neighbors: int | str
    normalize: str
    sigma: float | str

    @property
    def is_open(self) -> bool:
        """Whether anything is left to choose."""
        return AUTO in (self.graph, self.n_neighbors, self.normalize, self.sigma)

    def fill(self, other: Choice) -> Choice:
        """This choice with its open fields taken from ``other``."""
        return Choice(*(b if a == AUTO else a for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return f"graph={self.graph}, n_neighbors={self.n_neighbors}, normalize={self.normalize}, sigma={self.sigma:g}"


class Preparation:
    """Turns a choice into a learning problem over the rows of X; what several choices share is computed once.

    Parameters
    ----------
    X : the features before normalization.
    n_classes : the number of classes.
    settings, hidden : settings of the training, and the number of hidden neurons.
    degree : a registered name, a degree object or a function; names get the σ of the choice.
    graph : a ready graph, sparse matrix or ranked lists, used instead of neighbors searched in X.
    search : the backend of the :class:`~grande_gnn.graph.Neighbors`.
    """

    def __init__(
        self,
        X: NDArray[np.float32],
        n_classes: int,
        settings: Settings,
        hidden: int | None = 256,
        degree: Any = "grande",
        graph: Any = None,
        search: str | SearchBackend = "auto",
    ) -> None:
        self.X, self.n_classes, self.settings, self.hidden = X, n_classes, settings, hidden
        self.degree, self.graph, self.search = degree, graph, search
        self._normalizers: dict[str, Normalizer] = {}
        self._neighbors: dict[str, Neighbors] = {}
        self._graphs: dict[tuple[str, int | str, str], Graph] = {}

    def normalizer(self, choice: Choice) -> Normalizer:
        """The statistics of the choice's normalization."""
        how = choice.normalize
        if how not in self._normalizers:
            self._normalizers[how] = Normalizer.fit(self.X, how)
        return self._normalizers[how]

    def neighbors(self, choice: Choice) -> Neighbors:
        """The neighbors of the normalized features; its ``features`` are those."""
        how = choice.normalize
        if how not in self._neighbors:
            inputs = self.normalizer(choice).transform(self.X)
            self._neighbors[how] = Neighbors(inputs, backend=self.search, device=self.settings.device)
        return self._neighbors[how]

    def expect(self, choices: list[Choice]) -> None:
        """Search the neighbors for all these choices in advance: one search per normalization, for the longest lists."""
        if self.graph is not None:
            return
        longest: dict[str, int] = {}
        for choice in choices:
            length = GRAPHS[choice.graph].length(int(choice.n_neighbors))
            longest[choice.normalize] = max(length, longest.get(choice.normalize, 0))
        for choice in choices:
            self.neighbors(choice).lists(longest[choice.normalize])

    def graph_of(self, choice: Choice) -> Graph:
        """The graph of the choice, or the ready one."""
        key = (choice.graph, choice.n_neighbors, choice.normalize)
        if key not in self._graphs:
            source = choice.graph if self.graph is None else self.graph
            k = int(choice.n_neighbors)
            self._graphs[key] = build_graph(source, self.neighbors(choice), k, kind=choice.graph)
        return self._graphs[key]

    def problem(self, choice: Choice, settings: Settings | None = None) -> LearningProblem:
        """The learning problem of a choice without open fields, with other ``settings`` if given."""
        return LearningProblem(
            self.neighbors(choice).features, self.graph_of(choice), self.n_classes,
            as_degree(self.degree, float(choice.sigma)), settings or self.settings, self.hidden,
        )  # fmt: skip
