"""From rows to the numbers of a table: means, the two deviations, the σ picked honestly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.statistics import Interval, std_between_repetitions
from grande_gnn.experiments.trials import DEFAULT_SIGMA, Trial

__all__ = ["Scores", "collect", "honest_sigmas", "verdict"]


@dataclass(frozen=True, eq=False)
class Scores:
    """Accuracies in per cent, one row a repetition and one column a fold."""

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
        """The sample deviation of the folds' means, an order larger."""
        return float(self.values.mean(axis=0).std(ddof=1))


def verdict(change: Interval) -> str:
    """What a change's interval says about its sign."""
    if change.low > 0:
        return "gains"
    return "loses" if change.high < 0 else "shows no clear change"


def collect(finished: Mapping[Trial, Row], trials: Iterable[Trial]) -> Scores | None:
    """The scores of trials that differ in repetition and fold only; None unless all are there."""
    cells = {}
    for trial in trials:
        row = finished.get(trial)
        if row is None or row.accuracy is None:
            return None
        cells[trial.repetition, trial.fold] = row.accuracy
    repetitions, folds = (sorted({key[axis] for key in cells}) for axis in (0, 1))
    return Scores(np.array([[cells[r, f] for f in folds] for r in repetitions]))


def honest_sigmas(finished: Mapping[Trial, Row], inner: Iterable[Trial]) -> dict[int, float] | None:
    """The σ of each fold with most correct answers on the held-out labelled samples; None if trials miss.

    A tie goes to the σ nearest the paper's default: with few labels ties are common.
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
