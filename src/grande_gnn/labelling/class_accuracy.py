"""How often the label of each class is right, with intervals that stay wide if few labels were held out.

A class starts from the mean confidence in the unlabelled images that received it, worth two observations; held-out
predictions of the class then count as hits or misses (a beta posterior). A class that no held-out image received keeps
the wide interval it started from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from grande_gnn.labelling.confidence import AccuracyEstimate

__all__ = ["class_accuracies"]

Float = NDArray[np.float64]
Codes = NDArray[np.int64]

PRIOR_SIZE = 2.0
"""Observations that the mean confidence is worth: any two held-out images outweigh it."""


def class_accuracies(
    received: Codes, right: Float, weights: Float, unlabelled: Codes, confidence: Float
) -> dict[int, AccuracyEstimate]:
    """By class: of the images that receive it, the share that is right, and the number of held-out ones.

    Parameters
    ----------
    received, right, weights : for held-out samples, the predicted class, whether it is right, and how much each counts.
    unlabelled, confidence : for unlabelled samples, the predicted class and the calibrated confidence.
    """
    n_classes = 1 + max((int(codes.max()) for codes in (received, unlabelled) if len(codes)), default=-1)

    def totals(codes: Codes, values: Float | None = None) -> NDArray[Any]:
        return np.bincount(codes, values, minlength=n_classes)

    n_held_out, n_others = totals(received), totals(unlabelled)
    means = np.divide(
        totals(unlabelled, confidence), n_others, out=np.full(n_classes, 0.5), where=n_others > 0
    )
    prior = np.clip(means, 0.01, 0.99)
    hits = totals(received, weights * right) + PRIOR_SIZE * prior
    misses = totals(received, weights * (1 - right)) + PRIOR_SIZE * (1 - prior)
    low, high = (beta.ppf(level, hits, misses) for level in (0.025, 0.975))
    value = hits / (hits + misses)
    low, high = np.minimum(low, value), np.maximum(high, value)
    return {
        int(c): AccuracyEstimate(float(value[c]), float(low[c]), float(high[c]), int(n_held_out[c]))
        for c in np.flatnonzero(n_held_out + n_others)
    }
