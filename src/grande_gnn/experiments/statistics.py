"""Means, deviations and paired intervals of accuracies over folds and repetitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["Interval", "interval_over_folds", "paired_interval", "std_between_repetitions"]


class Interval(NamedTuple):
    """A mean with its confidence interval; the ends are NaN when one value is all there is."""

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
    """Interval of the difference ours − theirs, folds paired: both are (repetitions × folds)."""
    difference = np.atleast_2d(np.asarray(ours, dtype=np.float64)) - np.atleast_2d(np.asarray(theirs))
    return interval_over_folds(difference, level)
