"""The paper's protocol: stratified folds in file order, one fold to train and the rest to test, repeated."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.engine import Replica, Settings, resolve_device, train
from grande_gnn.engine.replica import DegreeFunction, DegreeSpec
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.statistics import Interval, interval_over_folds, std_between_repetitions
from grande_gnn.graph import build_graph
from grande_gnn.internal.validation import (
    check_choice,
    check_features,
    check_integer,
    check_sigma,
    encode_labels,
)

__all__ = ["Evaluation", "evaluate", "fold_labels", "folds_fill_parts", "inner_parts", "paper_folds"]


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
        """A flat, JSON-ready row; what is undefined (± of one repetition) is ``None``."""
        low, high = self.interval[1:]
        row = {
            "model": self.model, "degree": self.degree, "sigma": self.sigma,
            "folds": self.accuracies.shape[1], "repeats": self.accuracies.shape[0],
            "accuracy_mean": self.accuracy_mean, "accuracy_std": self.accuracy_std,
            "interval_low": low, "interval_high": high, "seconds": self.seconds,
        }  # fmt: skip
        return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()}


def paper_folds(
    labels: NDArray[np.int64], n_folds: int = 10
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(train, test) rows of each fold: the fold trains and the others test; codes of −1 are in neither.

    >>> [(train.tolist(), test.tolist()) for train, test in paper_folds(np.array([0, 0, 1, 1]), 2)]
    [([0, 2], [1, 3]), ([1, 3], [0, 2])]
    """
    n_folds = check_integer(n_folds, name="folds", low=2)
    labelled = np.flatnonzero(labels >= 0)
    largest = int(np.bincount(labels[labelled]).max())
    if largest < n_folds:
        raise InvalidInputError(
            f"every fold needs labelled samples: use at most as many folds as the largest class has labels ({largest}); "
            f"got folds={n_folds}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # a class smaller than n_folds misses some folds: allowed
        splits = list(StratifiedKFold(n_folds, shuffle=False).split(labelled, labels[labelled]))
    return [(labelled[fold], labelled[rest]) for rest, fold in splits]


def fold_labels(labels: NDArray[np.int64], train_rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The labels with only ``train_rows`` known."""
    known = np.full_like(labels, -1)
    known[train_rows] = labels[train_rows]
    return known


def inner_parts(codes: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """The part of each labelled sample of a fold: every class is cut into consecutive parts of equal size.

    >>> inner_parts(np.array([0, 0, 0, 1, 1, 1]), 3).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    part = np.empty(len(codes), dtype=np.int64)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        part[members] = np.arange(len(members)) * n_parts // len(members)
    return part


def folds_fill_parts(codes: NDArray[np.int64], n_folds: int, n_parts: int) -> bool:
    """Whether no fold leaves one of its ``n_parts`` empty: its largest class has as many labels."""
    return all(np.bincount(codes[fold]).max() >= n_parts for fold, _ in paper_folds(codes, n_folds))


def evaluate(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    model: str = "appnp",
    degree: str | DegreeFunction = "grande",
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
    """Accuracy by the paper's protocol, one :class:`Evaluation` for each σ (or one for another degree).

    ``settings`` are fields of :class:`~grande_gnn.engine.Settings` (epochs, lr, device, …). Samples without
    a label stay in the graph and are neither trained nor tested on.

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
    codes, classes = encode_labels(labels, len(X))
    X = Normalizer.fit(X, normalize).transform(X)
    shared = Settings(model=model, seed=random_state, **settings)
    degrees = _degrees(degree, sigma)
    splits = paper_folds(codes, folds)
    network = build_graph(graph, X, n_neighbors, device=str(resolve_device(shared.device)))
    repeats = check_integer(repeats, name="repeats", low=1)
    known = [fold_labels(codes, train_rows) for train_rows, _ in splits]
    replicas = [
        Replica(known[f], spec, r, f, hidden)
        for _, _, spec in degrees for r in range(repeats) for f in range(folds)
    ]  # fmt: skip
    outcomes = train(X, network, replicas, len(classes), shared, progress=progress)
    accuracies = np.array(
        [
            100 * np.mean(outcome.predictions[test] == codes[test])
            for outcome, (_, test) in zip(outcomes, splits * (len(degrees) * repeats), strict=True)
        ]
    ).reshape(len(degrees), repeats, folds)
    seconds = (time.perf_counter() - start) / len(degrees)
    return [
        Evaluation(model, name, value, table, seconds)
        for (name, value, _), table in zip(degrees, accuracies, strict=True)
    ]


def _degrees(
    degree: str | DegreeFunction, sigma: float | Iterable[float]
) -> list[tuple[str, float | None, DegreeSpec]]:
    """(name, σ or None, what the engine takes) of each degree to evaluate."""
    if callable(degree):
        return [(getattr(degree, "__name__", "custom"), None, degree)]
    if check_choice(degree, ("grande", "centrality"), name="degree") == "centrality":
        return [("centrality", None, "centrality")]
    sigmas = list(sigma) if isinstance(sigma, Iterable) else [sigma]
    if not sigmas:
        raise InvalidInputError("at least one sigma is needed; got an empty list")
    return [("grande", check_sigma(value), check_sigma(value)) for value in sigmas]
