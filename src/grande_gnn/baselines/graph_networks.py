"""The systems that are a graph, a degree and a diffusion network: GRaNDe, D-GRaNDe, DGCG and MGCN.

| system   | graph                                                  | degree     |
|----------|--------------------------------------------------------|------------|
| grande   | reciprocal nearest neighbours                          | GRaNDe     |
| d-grande | rank correlation (DGCG, its density counting self)     | GRaNDe     |
| dgcg     | rank correlation                                       | centrality |
| mgcn     | reciprocal nearest neighbours of *re-ranked* lists     | centrality |

Each runs with SGC and with APPNP, trained with the same settings, all folds as replicas of one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.engine import Replica, Settings, resolve_device, train
from grande_gnn.graph import Graph, dgcg_graph, ranked_lists, reciprocal_edges, reciprocal_knn_graph
from grande_gnn.graph.rerank import RERANKERS
from grande_gnn.internal.validation import UNLABELLED, check_choice

__all__ = ["BUILDERS", "GraphNetwork", "mgcn_graph"]


def mgcn_graph(
    features: NDArray[np.float32],
    n_neighbors: int = 40,
    *,
    reranker: str = "lhrr",
    length: int = 400,
    device: str = "cpu",
) -> Graph:
    """The reciprocal graph of the re-ranked lists (Manifold-GCN): manifold learning moves edges only.

    Which re-ranker and list length stand behind the paper's cells is not published; LHRR over the first 400
    is the default, :data:`~grande_gnn.graph.rerank.RERANKERS` has the others.
    """
    rerank = RERANKERS[check_choice(reranker, RERANKERS, name="reranker")]
    return reciprocal_edges(rerank(ranked_lists(features, length, device=device)), n_neighbors)


BUILDERS: dict[str, Callable[..., Graph]] = {
    "reciprocal": reciprocal_knn_graph,
    "dgcg": dgcg_graph,
    "dgcg-self": partial(dgcg_graph, count_self=True),
    "mgcn": mgcn_graph,
}
"""The graphs by name; each is called with the features, ``n_neighbors`` and ``device=``."""


class GraphNetwork(System):
    """SGC or APPNP on a graph of the features.

    ``graph`` is a name of :data:`BUILDERS` or such a function; ``degree`` is ``"grande"``, which uses
    ``sigma``, or ``"centrality"``. The other parameters are those of
    :class:`~grande_gnn.engine.Settings`. A sample is reached if it is connected to a labelled one.
    """

    def __init__(
        self,
        graph: str | Callable[..., Graph] = "reciprocal",
        degree: str = "grande",
        sigma: float = 0.2,
        model: str = "appnp",
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
        build = self.graph
        if not callable(build):
            build = BUILDERS[check_choice(build, BUILDERS, name="graph")]
        graph = build(X, self.n_neighbors, device=str(resolve_device(self.device)))
        check_choice(self.degree, ("grande", "centrality"), name="degree")
        degree = self.sigma if self.degree == "grande" else self.degree
        replicas = [Replica(codes, degree, fold=f, hidden=self.hidden) for f, codes in enumerate(folds)]
        outcomes = train(X, graph, replicas, int(folds.max()) + 1, self._settings())
        return [
            Transduction(outcome.predictions, graph.reached_from(codes != UNLABELLED))
            for outcome, codes in zip(outcomes, folds, strict=True)
        ]

    def _settings(self) -> Settings:
        seed = self.random_state
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        return Settings(self.model, epochs=self.epochs, lr=self.lr, device=self.device, seed=seed)
