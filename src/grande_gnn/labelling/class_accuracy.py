"""How often the label of each class is right, with intervals that stay wide if few labels were held out.

A class starts from the mean confidence in the unlabelled images that received it, worth two observations; held-out
predictions of the class then count as hits or misses (a beta posterior). A class that no held-out image received keeps
the wide interval it started from.
"""

from __future__ import annotations

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
    found = {}
    for c in np.unique(np.concatenate([received, unlabelled])):
        held_out, others = received == c, unlabelled == c
        prior = float(confidence[others].mean()) if others.any() else 0.5
        prior = min(max(prior, 0.01), 0.99)
        hits = float((weights * right)[held_out].sum()) + PRIOR_SIZE * prior
        misses = float((weights * (1 - right))[held_out].sum()) + PRIOR_SIZE * (1 - prior)
        low, high = beta.ppf([0.025, 0.975], hits, misses)
        value = hits / (hits + misses)
        found[int(c)] = AccuracyEstimate(
            value, float(min(low, value)), float(max(high, value)), int(held_out.sum())
        )
    return found
