"""Accuracy of one model and degree in the paper's protocol: each fold in turn is labelled, and the others are tested."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.engine import Degree, DegreeFunction, Settings, as_degree
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.folds import paper_folds
from grande_gnn.experiments.measure import SharedData, score
from grande_gnn.experiments.statistics import (
    Interval,
    interval_over_folds,
    std_between_repetitions,
    without_nan,
)
from grande_gnn.experiments.trials import Trial
from grande_gnn.graph import build_graph
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import check_features, check_integer, check_sigma, encode_labels

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Accuracies (in percent) of one model and degree, one for each repetition and fold."""

    model: str
    degree: str
    sigma: float | None
    accuracies: NDArray[np.float64]  # (repetitions, folds)
    seconds: float  # this row's share of the wall time of the batch it was trained in

    @property
    def accuracy_mean(self) -> float:
        """Mean over repetitions of the mean over folds."""
        return float(self.accuracies.mean())

    @property
    def accuracy_std(self) -> float:
        """The paper's ±: sample standard deviation between repetition means."""
        return std_between_repetitions(self.accuracies)

    @property
    def interval(self) -> Interval:
        """95 % interval over the folds."""
        return interval_over_folds(self.accuracies)

    def as_row(self) -> dict[str, Any]:
        """A flat, JSON-ready row; undefined values (± of one repetition) are ``None``."""
        low, high = self.interval[1:]
        return without_nan({
            "model": self.model, "degree": self.degree, "sigma": self.sigma,
            "folds": self.accuracies.shape[1], "repeats": self.accuracies.shape[0],
            "accuracy_mean": self.accuracy_mean, "accuracy_std": self.accuracy_std,
            "interval_low": low, "interval_high": high, "seconds": self.seconds,
        })  # fmt: skip


def evaluate(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    model: Any = "appnp",
    degree: str | Degree | DegreeFunction = "grande",
    sigma: float | Iterable[float] = 0.2,
    folds: int = 10,
    repeats: int = 5,
    graph: Any = "reciprocal",
    n_neighbors: int = 40,
    normalize: str = "none",
    hidden: int | None = 256,
    random_state: int = 0,
    progress: Callable[[int], object] | None = None,
    **settings: Any,
) -> list[Evaluation]:
    """Accuracy in the paper's protocol: one :class:`Evaluation` per σ (a single one for a degree without σ).

    ``model`` is a registered name or an ``nn.Module``, ``degree`` a registered name, a degree or a function, and
    ``graph`` whatever :func:`~grande_gnn.graph.build_graph` takes. ``settings`` are fields of
    :class:`~grande_gnn.engine.Settings` (epochs, lr, device, …). ``progress`` is called with the number of
    epochs × trainings finished since its last call. Samples without a label stay in the graph but are used neither for
    training nor for testing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result, = evaluate(X, y, model="sgc", repeats=1, epochs=20)
    >>> result.accuracies.shape
    (1, 10)
    """
    start = time.perf_counter()
    X = check_features(features)
    codes, _ = encode_labels(labels, len(X))
    X = Normalizer.fit(X, normalize).transform(X)
    shared = Settings(model=model, seed=random_state, **settings)
    degrees = _degrees(degree, sigma)
    paper_folds(codes, folds)  # raises before neighbors are searched
    network = build_graph(graph, X, n_neighbors, device=str(resolve_device(shared.device)))
    repeats = check_integer(repeats, name="repeats", low=1)
    options = {name: value for name, value in settings.items() if name not in ("lr", "epochs", "device")}
    trials = [
        Trial(
            "", "", each.name, folds, fold, repetition, random_state, normalize,
            model=model, degree=each, sigma=each.sigma, hidden=hidden, graph=_GRAPH, n_neighbors=n_neighbors,
            lr=shared.lr, epochs=shared.epochs, options=tuple(sorted(options.items())),
        )
        for each in degrees for repetition in range(repeats) for fold in range(folds)
    ]  # fmt: skip
    step = None if progress is None else lambda trained: progress(round(trained * shared.epochs))
    scores = score(SharedData(X, codes, "", {_GRAPH: network}), trials, shared.device, step)
    accuracies = np.reshape([each.accuracy for each in scores], (len(degrees), repeats, folds))
    seconds = (time.perf_counter() - start) / len(degrees)
    return [
        Evaluation(shared.kind.name, each.name, each.sigma, table, seconds)
        for each, table in zip(degrees, accuracies, strict=True)
    ]


_GRAPH = "given"
"""The name of the graph in the trials of an evaluation."""


def _degrees(degree: str | Degree | DegreeFunction, sigma: float | Iterable[float]) -> list[Degree]:
    """The degrees to evaluate: one per σ, or a single one if it has no σ."""
    first = as_degree(degree)
    if first is degree or first.sigma is None:
        return [first]
    sigmas = list(sigma) if isinstance(sigma, Iterable) else [sigma]
    if not sigmas:
        raise InvalidInputError("at least one sigma is needed; got an empty list")
    return [as_degree(degree, check_sigma(value)) for value in sigmas]
