"""Given graphs with a fixed split, such as the citation networks Cora and CiteSeer: the experiments' second protocol.

A file (``.npz``) holds sparse features as CSR (``data``, ``indices``, ``indptr``, ``shape``), ``labels`` (−1: none),
``edges`` (m × 2, undirected, each once) and ``split``: 0 train, 1 validation, 2 test, −1 unused. A model is trained with
many seeds on the training nodes; accuracies are means over seeds, and two degrees are compared seed by seed. The σ with the
best mean accuracy on the validation nodes is used. If the published training stops early, validation nodes decide that, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grande_gnn.engine import Degree, Replica, Settings, as_degree, as_model, train
from grande_gnn.errors import FileFormatError
from grande_gnn.experiments.citation_graphs import CitationGraph, identify_graph, origin_of
from grande_gnn.experiments.statistics import Interval, interval_over_folds, paired_interval
from grande_gnn.graph import Graph
from grande_gnn.internal.features_file import compressed_matrix
from grande_gnn.internal.files import naming
from grande_gnn.internal.npz_file import Wanted, read_npz
from grande_gnn.internal.progress import counting_if_heard
from grande_gnn.internal.validation import check_integer, check_sparse

__all__ = ["PUBLISHED", "Published", "SplitGraph", "SplitScores", "evaluate_split", "load_split_graph"]

TRAIN, VALIDATION, TEST = 0, 1, 2

WANTED = {
    "data": Wanted("fiu", 1), "indices": Wanted("iu", 1), "indptr": Wanted("iu", 1), "shape": Wanted("iu", 1),
    "labels": Wanted("iu", 1), "edges": Wanted("iu", 2), "split": Wanted("iu", 1),
}  # fmt: skip
"""The arrays of a file."""


@dataclass(frozen=True)
class Published:
    """The settings that a model was published with on these graphs, and the accuracies on Cora and CiteSeer."""

    settings: Mapping[str, Any]
    hidden: int | None
    accuracy: Mapping[str, float]
    source: str
    by_graph: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings that differ on single graphs, by the name of the graph."""

    def on(self, graph: str) -> dict[str, Any]:
        """The settings on a graph."""
        return {**self.settings, **self.by_graph.get(graph, {})}


PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "gcn": Published(
            {
                "lr": 0.01, "weight_decay": 5e-4, "dropout": 0.5, "epochs": 200, "patience": 10, "best_epoch": False,
            }, 16,
            {"cora": 81.5, "citeseer": 70.3}, "Kipf and Welling, ICLR 2017",
        ),
        "sgc": Published(
            {"lr": 0.2, "weight_decay": 1.3e-5, "epochs": 100, "n_hops": 2}, None,
            {"cora": 81.0, "citeseer": 71.9}, "Wu et al., ICML 2019",
            # The authors tune the weight decay on the validation nodes: of seven values, these two are the best there.
            # They train CiteSeer for 150 epochs (README of github.com/Tiiiger/SGC).
            {"citeseer": {"weight_decay": 2.4e-5, "epochs": 150}},
        ),
        "appnp": Published(
            {
                "lr": 0.01, "weight_decay": 5e-4, "dropout": 0.5, "epochs": 200, "patience": 10, "n_hops": 10, "alpha": 0.1,
            }, 64,
            {"cora": 83.3, "citeseer": 71.8}, "Fey and Lenssen, RLGM at ICLR 2019",
        ),
        "gat": Published(
            {"lr": 0.005, "weight_decay": 5e-4, "dropout": 0.6, "epochs": 1000, "patience": 100}, 64,
            {"cora": 83.0, "citeseer": 72.5}, "Veličković et al., ICLR 2018",
        ),
    }
)  # fmt: skip
"""Settings by the name of the model. Other models use GCN's settings with 64 hidden units, and their best epoch."""

OTHERWISE = Published({**PUBLISHED["gcn"].settings, "best_epoch": True}, 64, {}, "")


@dataclass(frozen=True, eq=False)
class SplitGraph:
    """A graph with features, labels and a split."""

    name: str
    features: sp.csr_matrix
    """Each row divided by its sum."""
    labels: NDArray[np.int64]
    graph: Graph
    split: NDArray[np.int64]
    citation: CitationGraph | None = None
    """Which of the known citation graphs it is; None for a custom one."""
    note: str | None = None
    """What a reader of the results must know about this edition."""

    def published(self, model: str) -> tuple[float, str] | None:
        """The published accuracy of a model with degree centrality on this graph, and its source."""
        found = PUBLISHED.get(model)
        if found is None or self.citation is None:
            return None
        return found.accuracy[self.citation.name], found.source

    @property
    def known(self) -> NDArray[np.int64]:
        """The labels of the training nodes, −1 elsewhere."""
        return np.where(self.split == TRAIN, self.labels, -1)

    @property
    def validation(self) -> NDArray[np.int64]:
        """The labels of the validation nodes, −1 elsewhere."""
        return np.where(self.split == VALIDATION, self.labels, -1)

    def accuracy(self, predictions: NDArray[np.int64], part: int) -> float:
        """The percentage of right predictions among the labelled nodes of one part of the split."""
        rows = (self.split == part) & (self.labels >= 0)
        return float(100 * np.mean(predictions[rows] == self.labels[rows]))


def load_split_graph(path: str | os.PathLike[str]) -> SplitGraph:
    """Read a graph with a split; rows of features are divided by their sum, as all published results do."""
    name = os.path.basename(path).removesuffix(".npz")
    if not os.path.exists(path):
        raise FileFormatError(
            f"a graph with a split is an .npz file with sparse features, labels, edges and a split{origin_of(name)}; got "
            f"{os.fspath(path)}, which does not exist"
        )
    arrays = read_npz(path, "graph with a split", WANTED)
    with naming(path):
        try:
            shape = tuple(int(size) for size in arrays["shape"])
            matrix = compressed_matrix(arrays)
            edges = np.asarray(arrays["edges"], dtype=np.int64).reshape(-1, 2)
            graph = Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=shape[0])
            labels, split = (np.asarray(arrays[name], dtype=np.int64) for name in ("labels", "split"))
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise FileFormatError(
                f"{path} must hold sparse features, labels, edges and a split; got {error}"
            ) from None
        if labels.shape != split.shape or labels.shape != shape[:1]:
            raise FileFormatError(
                f"{path} must have one label and one entry of 'split' for each of its {shape[0]} rows; "
                f"got shapes {labels.shape} and {split.shape}"
            )
        if labels.max(initial=-1) >= len(labels):
            raise FileFormatError(
                f"{path} must number its classes from 0, and have no more classes than rows; got the label {labels.max()}"
            )
        for part, what in ((TRAIN, "train"), (VALIDATION, "validation"), (TEST, "test")):
            if not ((split == part) & (labels >= 0)).any():
                raise FileFormatError(
                    f"{path} must have labelled {what} nodes ('split' equal to {part}); got none"
                )
        features = check_sparse(matrix)
        train, validation, test = (int(np.sum(split == part)) for part in (TRAIN, VALIDATION, TEST))
        citation, note = identify_graph(name, shape, int(labels.max()) + 1, (train, validation, test))
        sums = features.sum(axis=1).A1
        with np.errstate(over="ignore"):  # a sum near 0 makes features infinite, which are refused
            scale = 1 / np.where(sums > 0, sums, np.float32(1))
            features.data *= np.repeat(scale.astype(np.float32), np.diff(features.indptr))
            features = check_sparse(features)
    return SplitGraph(name, features, labels, graph, split, citation, note)


@dataclass(frozen=True, eq=False)
class SplitScores:
    """Accuracies in percent of one model and degree, one for each seed."""

    model: str
    degree: str
    sigma: float | None
    validation: NDArray[np.float64]
    test: NDArray[np.float64]

    @property
    def interval(self) -> Interval:
        """Mean test accuracy and its 95 % interval over seeds."""
        return interval_over_folds(self.test)

    def minus(self, other: SplitScores) -> Interval:
        """The mean difference of test accuracies and its 95 % interval, seeds paired."""
        return paired_interval(self.test, other.test)


def evaluate_split(
    data: SplitGraph,
    model: Any = "gcn",
    degree: Any = "grande",
    sigmas: Sequence[float] = (0.2,),
    *,
    seeds: int = 10,
    random_state: int = 0,
    device: str = "auto",
    progress: Callable[[int], object] | None = None,
    **settings: Any,
) -> SplitScores:
    """Train on the training nodes with many seeds; the result is that of the σ with the best validation accuracy.

    ``settings`` are ``hidden`` and fields of :class:`~grande_gnn.engine.Settings` that replace the published ones.
    """
    seeds = check_integer(seeds, name="seeds", low=1)
    published = PUBLISHED.get(as_model(model).name, OTHERWISE)
    hidden = settings.pop("hidden", published.hidden)
    shared = Settings(
        model=model, device=device, seed=random_state, **{**published.on(data.name), **settings}
    )
    degrees: list[Degree] = [as_degree(degree, sigma) for sigma in sigmas]
    if degrees[0].sigma is None:
        degrees = degrees[:1]
    replicas = [
        Replica(data.known, each, seed, 0, hidden, validation=data.validation)
        for each in degrees for seed in range(seeds)
    ]  # fmt: skip
    n_classes = int(data.labels.max()) + 1
    progress = progress or counting_if_heard("train", shared.epochs * len(replicas))
    outcomes = train(data.features, data.graph, replicas, n_classes, shared, progress=progress)
    validation, test = (
        np.reshape([data.accuracy(o.predictions, part) for o in outcomes], (len(degrees), seeds))
        for part in (VALIDATION, TEST)
    )
    best = int(validation.mean(axis=1).argmax())
    chosen = degrees[best]
    return SplitScores(shared.kind.name, chosen.name, chosen.sigma, validation[best], test[best])
