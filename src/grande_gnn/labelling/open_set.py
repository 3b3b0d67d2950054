"""Images of no labelled class: the model doubts them, and it doubts the images around them too.

    doubt(x) = ½ (1 − confidence of the training on all labels) + ½ P(trainings on two halves of the labels disagree)
    unfamiliar(x) = mean doubt of x and its nearest neighbors, labelled ones counting 0

A single doubtful image is just hard. A whole neighborhood of doubt without a label in it is what a class looks like that
nobody labelled; so the mean over neighbors tells much more than the image alone (docs/confidence.md). A class so much like
a labelled one that the model is sure of it cannot be found this way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.halves import Halves

__all__ = ["familiarity", "is_unfamiliar", "unfamiliar_scores"]

Float = NDArray[np.float64]
Mask = NDArray[np.bool_]

LEAST = 0.5
"""A score below this is no sign of an unknown class, however unusual it is among the others."""

MOST_FLAGGED = 0.05
"""At most this share of the images is flagged, those with the highest scores."""

LOWERED = 0.75
"""The confidence of flagged images is multiplied by this."""


def unfamiliar_scores(full: Float, halves: Halves, lists: NDArray[np.int32]) -> Float:
    """How unlike all labelled classes each sample is, in [0, 1], 1 being the most unlike; labelled samples have 0.

    Parameters
    ----------
    full : probabilities by the training on all labels.
    halves : what trainings on halves of the labels say.
    lists : ranked lists of the samples, each sample first in its own.
    """
    one, other = halves.probabilities
    predicted, doubt = full.argmax(axis=1), 1 - full.max(axis=1)
    both_know = np.logical_and(*(np.isin(predicted, halves.codes[known]) for known in halves.known))
    disagree = 1 - (one * other).sum(axis=1)
    doubt = np.where(both_know, (doubt + disagree) / 2, doubt)
    labelled = halves.codes >= 0
    doubt[labelled] = 0.0
    score = doubt[lists].mean(axis=1)
    return np.where(labelled, 0.0, np.clip(score, 0, 1))


def is_unfamiliar(scores: Float, labelled: Mask) -> Mask:
    """Which samples stand out: those with a high score, and at most a twentieth of all."""
    if labelled.all():
        return np.zeros(len(scores), dtype=bool)
    limit = float(np.quantile(scores[~labelled], 1 - MOST_FLAGGED))
    return ~labelled & (scores > max(LEAST, limit))


def familiarity(unfamiliar: Mask) -> Float:
    """The factor by which each confidence is multiplied."""
    return np.where(unfamiliar, LOWERED, 1.0)
