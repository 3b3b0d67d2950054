"""From a classifier's probabilities to confidences that mean what they say.

1. p ∝ p^(1/T).
2. The winner's log-odds become slope · log-odds + offset, and the other classes share the rest in proportion. The winner
   stays the winner.

The slope is that of the curve which held-out labels give (:mod:`grande_gnn.labelling.correctness`), and the offset makes
the mean confidence in the unlabelled images equal to the accuracy expected on them. T is 1, except in results of
version 0.1, which fitted it and always used the slope ½.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, softmax

from grande_gnn.internal.row_blocks import by_row_blocks, largest
from grande_gnn.labelling.correctness import Correctness, log_odds

__all__ = ["Calibration", "fit_calibration", "with_winner"]

Float = NDArray[np.float64]

FLATTEST, STEEPEST = 0.05, 3.0
"""Limits of the slope: surer predictions are never less often right."""

AHEAD = 1e-6
"""The lead that a winner keeps over the runner-up, so that rounding cannot change the label."""

FURTHEST = 20.0
"""Limit of the offset."""


@dataclass(frozen=True)
class Calibration:
    """Turns a classifier's probabilities into calibrated ones."""

    temperature: float = 1.0
    offset: float | None = None  # None: only the temperature
    slope: float = 0.5  # of version 0.1, whose settings.json has none

    def probabilities(self, uncalibrated: Float) -> Float:
        """Calibrated probabilities; the most probable class stays the same."""
        return by_row_blocks(self._of_rows, uncalibrated)

    def _of_rows(self, uncalibrated: Float) -> Float:
        p = np.maximum(uncalibrated, 1e-30)
        if self.temperature == 1:  # which needs neither logarithms nor exponentials
            p /= p.sum(axis=1, keepdims=True)
        else:
            p = softmax(np.log(p) / self.temperature, axis=1)
        if self.offset is None or p.shape[1] == 1:
            return p
        top = np.clip(p.max(axis=1), 1e-6, 1 - 1e-6)
        return with_winner(p, expit(self.slope * logit(top) + self.offset))


def with_winner(probabilities: Float, confidence: Float) -> Float:
    """Probabilities whose winner has this confidence and stays the winner; the others share the rest in proportion."""
    p = probabilities.copy()
    if p.shape[1] == 1:
        return p
    rows, best = np.arange(len(p)), p.argmax(axis=1)
    p[rows, best] = 0
    p[~p.any(axis=1)] = 1  # nothing measurable is left for the others: they share evenly
    p[rows, best] = 0
    p /= p.sum(axis=1, keepdims=True)
    runner_up = p.max(axis=1)
    tie = runner_up / (runner_up + 1)  # at this confidence the runner-up is as likely
    moved = np.maximum(confidence, tie + AHEAD * (1 - tie))
    p *= (1 - moved)[:, None]
    p[rows, best] = moved
    return p


def fit_calibration(
    curve: Correctness,
    uncalibrated: Float,
    accuracy: float,
    familiarity: Float | None = None,
    asked: NDArray[np.bool_] | None = None,
) -> Calibration:
    """The calibration with the curve's slope whose mean confidence in these samples is their expected accuracy.

    Parameters
    ----------
    curve : how often a confidence is right.
    uncalibrated : the classifier's probabilities.
    accuracy : what is expected on these samples.
    familiarity : a factor that each sample's confidence is multiplied by afterwards; None: 1.
    asked : a mask of the samples that count, the unlabelled ones; None for all. Selecting them would copy all
        probabilities.
    """
    asked = np.ones(len(uncalibrated), dtype=bool) if asked is None else asked
    if uncalibrated.shape[1] == 1 or not asked.any():
        return Calibration()
    factor = np.ones(int(asked.sum())) if familiarity is None else familiarity[asked]
    slope = _slope(curve, largest(uncalibrated)[1][asked])
    # The log-odds and the limits of the winners are computed once, so that no trial needs a pass over all classes.
    x, least = by_row_blocks(_winners, uncalibrated)[asked].T

    def gap(offset: float) -> float:
        confidence = np.maximum(expit(slope * x + offset), least)
        return float((confidence * factor).mean()) - accuracy

    if gap(-FURTHEST) >= 0:  # many classes tie
        return Calibration(1.0, -FURTHEST, slope)
    if gap(FURTHEST) <= 0:
        return Calibration(1.0, FURTHEST, slope)
    return Calibration(1.0, float(brentq(gap, -FURTHEST, FURTHEST, xtol=1e-5)), slope)


def _winners(uncalibrated: Float) -> Float:
    """For each row the log-odds of the winner, and the least confidence with which it stays the winner."""
    uncertain = Calibration(1.0).probabilities(uncalibrated)
    x = logit(np.clip(uncertain.max(axis=1), 1e-6, 1 - 1e-6))
    return np.stack([x, with_winner(uncertain, np.zeros(len(uncertain))).max(axis=1)], axis=1)


def _slope(curve: Correctness, confidence: Float) -> float:
    """The slope of the straight line through the curve's log-odds at these confidences."""
    x, y = log_odds(confidence), log_odds(curve.probability(confidence))
    spread = float(((x - x.mean()) ** 2).mean())
    if spread < 1e-9:
        return 1.0
    return float(np.clip(((x - x.mean()) * (y - y.mean())).mean() / spread, FLATTEST, STEEPEST))
