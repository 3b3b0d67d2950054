"""Predictions for labelled samples by trainings that did not know their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.degree import Degree

__all__ = ["N_FOLDS", "HeldOut", "held_out_folds", "hold_out"]

N_FOLDS = 4
"""Folds of the labelled samples: few, because each costs a training."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Logits of labelled samples, each from a training that did not know its label."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    logits: NDArray[np.float64]

    @property
    def hits(self) -> NDArray[np.float64]:
        """1 where the held-out prediction is right, else 0."""
        return (self.logits.argmax(axis=1) == self.labels).astype(np.float64)

    def joined(self, other: HeldOut) -> HeldOut:
        """The predictions of both, in ascending order of the rows."""
        rows = np.concatenate([self.rows, other.rows])
        order = np.argsort(rows)
        labels = np.concatenate([self.labels, other.labels])[order]
        return HeldOut(rows[order], labels, np.concatenate([self.logits, other.logits])[order])


def held_out_folds(codes: NDArray[np.int64], n_folds: int = N_FOLDS) -> list[NDArray[np.int64]]:
    """Rows of the labelled samples in stratified folds; empty if some class has fewer than two labels."""
    rows = np.flatnonzero(codes >= 0)
    smallest = int(np.bincount(codes[rows]).min())
    if smallest < 2 or len(np.unique(codes[rows])) < 2:
        return []
    splitter = StratifiedKFold(min(n_folds, smallest), shuffle=True, random_state=0)
    return [rows[test] for _, test in splitter.split(rows, codes[rows])]


def hold_out(
    problem: LearningProblem,
    codes: NDArray[np.int64],
    folds: Sequence[NDArray[np.int64]],
    degrees: Sequence[Degree] | None = None,
    *,
    first: int = 0,
) -> list[HeldOut]:
    """Held-out logits for each degree (default: the problem's own), one training per degree and fold.

    ``first`` is the number of the first fold; the initial weights of a training depend on the number of its fold.
    """
    degrees = [problem.degree] if degrees is None else degrees
    rows = np.sort(np.concatenate(folds))
    masked = []
    for fold in folds:
        known = codes.copy()
        known[fold] = -1
        masked.append(known)
    sets = [LabelSet(known, f, degree=degree) for degree in degrees for f, known in enumerate(masked, first)]
    outcomes = problem.train(sets, keep_models=True)
    results = []
    for d in range(len(degrees)):
        logits = np.zeros((len(codes), problem.n_classes))
        for fold, outcome in zip(folds, outcomes[d * len(folds) : (d + 1) * len(folds)], strict=True):
            assert outcome.logits is not None  # keep_models=True
            logits[fold] = outcome.logits[fold]
        results.append(HeldOut(rows, codes[rows], logits[rows]))
    return results
