"""The systems that are a graph, a degree and a diffusion network: GRaNDe, D-GRaNDe, DGCG and MGCN.

| system   | graph                                                  | degree     |
|----------|--------------------------------------------------------|------------|
| grande   | reciprocal nearest neighbors                           | GRaNDe     |
| d-grande | rank correlation (DGCG, its density counting self)     | GRaNDe     |
| dgcg     | rank correlation                                       | centrality |
| mgcn     | reciprocal nearest neighbors of *re-ranked* lists      | centrality |

Each runs with SGC and with APPNP, trained with the same settings and all folds in one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.engine import Settings, as_degree
from grande_gnn.graph import Graph, build_graph
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import UNLABELLED

__all__ = ["GraphNetwork"]


class GraphNetwork(System):
    """A diffusion model on a graph of the features.

    ``graph`` is a name of :data:`~grande_gnn.graph.GRAPHS` or a function that is called with the features,
    ``n_neighbors`` and ``device=``; ``degree`` is a registered name, which uses ``sigma`` if it has a σ, or a degree;
    ``model`` is a registered name or an ``nn.Module``. The other parameters are those of
    :class:`~grande_gnn.engine.Settings`. A sample is reached if it is connected to a labelled one.
    """

    def __init__(
        self,
        graph: str | Callable[..., Graph] = "reciprocal",
        degree: Any = "grande",
        sigma: float = 0.2,
        model: Any = "appnp",
        n_neighbors: int = 40,
        hidden: int | None = 256,
        epochs: int = 200,
        lr: float = 1e-3,
        device: str = "auto",
        random_state: int | None = None,
    ):
        self.graph = graph
        self.degree = degree
        self.sigma = sigma
        self.model = model
        self.n_neighbors = n_neighbors
        self.hidden = hidden
        self.epochs = epochs
        self.lr = lr
        self.device = device
        self.random_state = random_state

    def _transduce(self, X: NDArray[np.float32], codes: NDArray[np.int64]) -> Transduction:
        return self._transduce_folds(X, codes[None])[0]

    def _transduce_folds(self, X: NDArray[np.float32], folds: NDArray[np.int64]) -> list[Transduction]:
        device = str(resolve_device(self.device))
        degree, settings = as_degree(self.degree, self.sigma), self._settings()
        if callable(self.graph):
            graph = self.graph(X, self.n_neighbors, device=device)
        else:
            graph = build_graph(self.graph, X, self.n_neighbors, device=device)
        problem = LearningProblem(X, graph, int(folds.max()) + 1, degree, settings, self.hidden)
        return [
            Transduction(outcome.predictions, graph.reached_from(codes != UNLABELLED))
            for outcome, codes in zip(problem.train(list(folds)), folds, strict=True)
        ]

    def _settings(self) -> Settings:
        seed = self.random_state
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        return Settings(self.model, epochs=self.epochs, lr=self.lr, device=self.device, seed=seed)
