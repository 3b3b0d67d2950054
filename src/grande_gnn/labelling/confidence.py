"""The numbers that say how sure a labelling is, and the modules that compute them.

====================================  ==============================================================
how often a confidence is right       :mod:`grande_gnn.labelling.correctness`
how much each label tells             :mod:`grande_gnn.labelling.label_evidence`
the expected accuracy                 :mod:`grande_gnn.labelling.expected_accuracy`
why its interval is wide              :mod:`grande_gnn.labelling.doubts`
the confidence of each image          :mod:`grande_gnn.labelling.calibration`
given labels that look wrong          :mod:`grande_gnn.labelling.suspicion`
images of no labelled class           :mod:`grande_gnn.labelling.open_set`
sets of possible labels               :mod:`grande_gnn.labelling.label_sets`
====================================  ==============================================================

All scores lie in [0, 1]; a confidence of 1 is certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from grande_gnn.labelling.calibration import Calibration

__all__ = [
    "AccuracyEstimate",
    "Calibration",
    "ReliabilityBin",
    "expected_calibration_error",
    "outlier_limit",
    "reliability_bins",
    "wilson_interval",
]

Float = NDArray[np.float64]

OUTLIER_SPREAD = 3.0
"""Interquartile ranges above the third quartile beyond which a sample counts as far from everything."""


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


@dataclass(frozen=True)
class ReliabilityBin:
    """Held-out images whose confidence lies in [``low``, ``high``): their number, mean confidence and accuracy."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability_bins(confidence: Float, right: Float, n_bins: int = 10) -> list[ReliabilityBin]:
    """Equal-width bins of the confidence; an empty bin has mean confidence 0 and accuracy 0."""
    place = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    bins = []
    for b in range(n_bins):
        inside = place == b
        count = int(inside.sum())
        means = (float(confidence[inside].mean()), float(right[inside].mean())) if count else (0.0, 0.0)
        bins.append(ReliabilityBin(b / n_bins, (b + 1) / n_bins, count, *means))
    return bins


def expected_calibration_error(confidence: Float, right: Float, n_bins: int = 15) -> float:
    """Mean gap between confidence and accuracy over bins of equal mass, weighted by their size.

    >>> expected_calibration_error(np.array([0.5, 0.5, 1.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0]), n_bins=2)
    0.25
    """
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, n_bins) if len(part)]
    gaps = [abs(float(confidence[part].mean() - right[part].mean())) * len(part) for part in parts]
    return float(sum(gaps)) / max(len(confidence), 1)


def outlier_limit(distances: Float) -> float:
    """The distance to a near neighbor beyond which a sample is far from everything.

    It is three interquartile ranges above the third quartile on a log scale, and infinite if any distance is.
    """
    if not np.isfinite(distances).all():
        return np.inf
    logs = np.log(np.maximum(distances, 1e-12))
    first, third = np.quantile(logs, [0.25, 0.75])
    return float(np.exp(third + OUTLIER_SPREAD * max(float(third - first), 1e-9)))
