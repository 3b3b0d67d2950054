"""How sure the labels are: calibration, an accuracy estimate, and what deserves a look.

Labelled images are seldom a fair sample: people label images that lie side by side, so held-out labelled images resemble
their training neighbours more than the unlabelled ones do, and a plain cross-validated accuracy is too high. So the
*unlabelled* images are used too. Two models from independent labels disagree about as often as one of them is wrong
(Jiang et al., Assessing Generalization via Disagreement, ICLR 2022), and two from disjoint halves of the labels show
what half the labels give; where a class has very few labels, each half is compared with the training from all labels.
The estimate is the mean of that agreement and of the confidence in the unlabelled images after temperature scaling on
held-out labels. It is still too high where all models make the same error.

All scores lie in [0, 1]; a confidence of 1 is certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit, softmax
from scipy.stats import norm

if TYPE_CHECKING:
    from grande_gnn.classifier.held_out import HeldOut

__all__ = [
    "AccuracyEstimate",
    "Calibration",
    "ReliabilityBin",
    "estimate_accuracy",
    "fit_offset",
    "fit_temperature",
    "outlier_limit",
    "reliability_bins",
    "suspicious_labels",
    "wilson_interval",
]

Float = NDArray[np.float64]

SUSPICIOUS_CONFIDENCE = 0.8
"""A given label is suspicious when the held-out prediction is another class with at least this confidence."""

FLATTENING = 0.5
"""The share of the winner's log-odds that is kept."""

OUTLIER_SPREAD = 3.0
"""Interquartile ranges above the third quartile beyond which a sample counts as far from everything."""


def fit_temperature(held_out: HeldOut) -> float:
    """The T for which softmax(logits/T) has the smallest negative log-likelihood (Guo et al., 2017).

    A temperature cannot change which class wins. A weak penalty on extreme values keeps T finite when every held-out
    prediction is right.
    """
    rows = np.arange(len(held_out.labels))

    def loss(log_temperature: float) -> float:
        p = softmax(held_out.logits / np.exp(log_temperature), axis=1)[rows, held_out.labels]
        return float(-np.log(np.maximum(p, 1e-12)).mean() + 1e-3 * log_temperature**2)

    return float(np.exp(minimize_scalar(loss, bounds=(-5.0, 7.0), method="bounded").x))


@dataclass(frozen=True)
class Calibration:
    """Turns a classifier's probabilities into calibrated ones, in two steps.

    1. p ∝ p^(1/T), the temperature fitted to held-out labels.
    2. The winner's log-odds become ½ log-odds + offset, and the other classes share the rest in proportion: diffusion
       makes a model too sure of its easy images and too unsure of its hard ones, which no temperature can repair
       (measured on Flowers17 and Corel5k, ``docs/confidence.md``). The offset makes the mean confidence in the unlabelled
       images equal to the accuracy expected on them.
    """

    temperature: float = 1.0
    offset: float | None = None  # None: only the first step

    def probabilities(self, uncalibrated: Float) -> Float:
        """Calibrated probabilities; the most probable class stays the same."""
        p = softmax(np.log(np.maximum(uncalibrated, 1e-30)) / self.temperature, axis=1)
        if self.offset is None or p.shape[1] == 1:
            return p
        rows, best = np.arange(len(p)), p.argmax(axis=1)
        top = np.clip(p[rows, best], 1e-6, 1 - 1e-6)
        p[rows, best] = 0
        p[~p.any(axis=1)] = 1  # nothing measurable is left for the others: they share evenly
        p[rows, best] = 0
        p /= p.sum(axis=1, keepdims=True)
        runner_up = p.max(axis=1)
        tie = runner_up / (runner_up + 1)  # below this the runner-up would overtake
        moved = np.maximum(expit(FLATTENING * logit(top) + self.offset), tie)
        p *= (1 - moved)[:, None]
        p[rows, best] = moved
        return p


def fit_offset(temperature: float, uncalibrated: Float, accuracy: float) -> Calibration:
    """The calibration whose mean confidence in these samples equals their expected accuracy."""

    def gap(offset: float) -> float:
        return (
            float(Calibration(temperature, offset).probabilities(uncalibrated).max(axis=1).mean()) - accuracy
        )

    low, high = -10.0, 10.0
    if uncalibrated.shape[1] == 1 or gap(low) >= 0 or gap(high) <= 0:
        return Calibration(temperature)
    return Calibration(temperature, float(brentq(gap, low, high, xtol=1e-4)))


@dataclass(frozen=True)
class AccuracyEstimate:
    """A share in [0, 1] with its 95 % interval, from ``n`` held-out samples."""

    value: float
    low: float
    high: float
    n: int


def wilson_interval(hits: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share: ``hits`` of ``n``, which need not be whole numbers.

    >>> [round(end, 3) for end in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    z = float(norm.ppf((1 + level) / 2))
    center = (hits + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(hits * (n - hits) / n + z * z / 4)
    return max(0.0, float(center - half)), min(1.0, float(center + half))


def estimate_accuracy(confidence: float, halves: float, n_labels: int) -> AccuracyEstimate:
    """The expected share of right labels among the unlabelled samples, with Wilson's interval for ``n_labels``.

    Parameters
    ----------
    confidence : mean confidence in the unlabelled samples, after temperature scaling on held-out labels.
    halves : agreement on the unlabelled samples of two trainings from disjoint halves of the labels.
    """
    value = (confidence + halves) / 2
    low, high = wilson_interval(value * n_labels, n_labels)
    return AccuracyEstimate(value, low, high, n_labels)


@dataclass(frozen=True)
class ReliabilityBin:
    """Held-out images whose confidence lies in [``low``, ``high``): their number, mean confidence and accuracy."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability_bins(confidence: Float, right: Float, n_bins: int = 10) -> list[ReliabilityBin]:
    """Equal-width bins of the confidence; an empty bin has the mean confidence and accuracy 0."""
    place = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    bins = []
    for b in range(n_bins):
        inside = place == b
        count = int(inside.sum())
        means = (float(confidence[inside].mean()), float(right[inside].mean())) if count else (0.0, 0.0)
        bins.append(ReliabilityBin(b / n_bins, (b + 1) / n_bins, count, *means))
    return bins


def outlier_limit(distances: Float) -> float:
    """The distance to a near neighbour beyond which a sample is far from everything.

    On a log scale: three interquartile ranges above the third quartile. Infinite if some distance is.
    """
    if not np.isfinite(distances).all():
        return np.inf
    logs = np.log(np.maximum(distances, 1e-12))
    first, third = np.quantile(logs, [0.25, 0.75])
    return float(np.exp(third + OUTLIER_SPREAD * max(float(third - first), 1e-9)))


def suspicious_labels(held_out: HeldOut, calibration: Calibration) -> list[tuple[int, int, float]]:
    """(row, suggested class, confidence) of given labels that the held-out prediction contradicts, surest first."""
    p = softmax(held_out.logits / calibration.temperature, axis=1)
    best, sure = p.argmax(axis=1), p.max(axis=1)
    doubtful = np.flatnonzero((best != held_out.labels) & (sure >= SUSPICIOUS_CONFIDENCE))
    ordered = doubtful[np.argsort(-sure[doubtful], kind="stable")]
    return [(int(held_out.rows[i]), int(best[i]), float(sure[i])) for i in ordered]
