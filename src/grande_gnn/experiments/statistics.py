"""From rows to numbers: means, the two deviations, paired intervals, and the σ chosen by nested cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.trials import DEFAULT_SIGMA, Trial

__all__ = [
    "Interval",
    "Scores",
    "collect",
    "interval_over_folds",
    "nested_sigmas",
    "paired_interval",
    "std_between_repetitions",
    "verdict",
    "without_nan",
]


class Interval(NamedTuple):
    """A mean with its confidence interval; the ends are NaN if there is only one value."""

    mean: float
    low: float
    high: float


def std_between_repetitions(accuracies: NDArray[np.float64]) -> float:
    """The paper's ±: sample standard deviation of the repetition means; NaN for one repetition."""
    means = np.asarray(accuracies).mean(axis=1)
    return float(means.std(ddof=1)) if len(means) > 1 else float("nan")


def interval_over_folds(accuracies: ArrayLike, level: float = 0.95) -> Interval:
    """Student's t interval of the fold means (repetitions averaged first).

    Folds share their test samples, so the interval describes these folds, not fresh data.
    """
    folds = np.atleast_2d(np.asarray(accuracies, dtype=np.float64)).mean(axis=0)
    mean = float(folds.mean())
    if len(folds) < 2:
        return Interval(mean, float("nan"), float("nan"))
    half = float(stats.t.ppf((1 + level) / 2, len(folds) - 1) * folds.std(ddof=1) / np.sqrt(len(folds)))
    return Interval(mean, mean - half, mean + half)


def paired_interval(ours: ArrayLike, theirs: ArrayLike, level: float = 0.95) -> Interval:
    """Interval of the difference ours − theirs over paired folds; both arrays are (repetitions × folds)."""
    difference = np.atleast_2d(np.asarray(ours, dtype=np.float64)) - np.atleast_2d(np.asarray(theirs))
    return interval_over_folds(difference, level)


def verdict(change: Interval) -> str:
    """Whether the interval of a change shows a gain, a loss, or neither, in words."""
    if change.low > 0:
        return "gains"
    return "loses" if change.high < 0 else "shows no clear change"


def without_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with None where a number is undefined, as JSON has no NaN."""
    return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()}


@dataclass(frozen=True, eq=False)
class Scores:
    """Accuracies in percent, one row per repetition and one column per fold."""

    values: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean over repetitions and folds."""
        return float(self.values.mean())

    @property
    def std(self) -> float | None:
        """The paper's ±: the sample deviation of the repetitions' means; None with one repetition."""
        return std_between_repetitions(self.values) if len(self.values) > 1 else None

    @property
    def std_folds(self) -> float:
        """The sample deviation of the folds' means, about ten times as large."""
        return float(self.values.mean(axis=0).std(ddof=1))


def collect(finished: Mapping[Trial, Row], trials: Iterable[Trial]) -> Scores | None:
    """The scores of trials that differ in seed, repetition and fold only; None unless all are finished."""
    cells = {}
    for trial in trials:
        row = finished.get(trial)
        if row is None or row.accuracy is None:
            return None
        cells[(trial.seed, trial.repetition), trial.fold] = row.accuracy
    repetitions, folds = sorted({key[0] for key in cells}), sorted({key[1] for key in cells})
    return Scores(np.array([[cells[r, f] for f in folds] for r in repetitions]))


def nested_sigmas(finished: Mapping[Trial, Row], inner: Iterable[Trial]) -> dict[int, float] | None:
    """For each fold, the σ with the most correct predictions on held-out labelled samples; None if trials are missing.

    Ties, which are common with few labels, go to the σ that is closest to the paper's default.
    """
    correct: dict[int, dict[float, float]] = {}
    for trial in inner:
        row = finished.get(trial)
        if row is None or row.accuracy is None or row.n_test is None or trial.sigma is None:
            return None
        fold = correct.setdefault(trial.fold, {})
        fold[trial.sigma] = fold.get(trial.sigma, 0.0) + round(row.accuracy * row.n_test / 100)
    return {
        fold: min(counts, key=lambda sigma: (-counts[sigma], abs(sigma - DEFAULT_SIGMA)))
        for fold, counts in correct.items()
    }
