"""Unfamiliar images, which seem to be of a class that nobody labelled: models doubt them and their neighbors, or hardly
a label is near.

    doubt       mean over x and its ten nearest neighbors of ½ (1 − confidence of the training on all labels) + ½ P(trainings
                on two halves of the labels disagree); labelled images count 0
    lack        1 − (labelled images among the 39 nearest, averaged over the neighborhood) / (how many chance would give)
    unfamiliar  1 − (1 − doubt²)(1 − w · lack²), where w is small if chance would give hardly one label

A single doubtful image is just hard, and a single image may have no label near it by chance. But a class that nobody
labelled shows as a whole neighborhood of doubtful images, or as one without labels. If there are few labels, every
neighborhood lacks labels, and only doubt counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.halves import Halves
from grande_gnn.internal.row_blocks import by_row_blocks, largest

__all__ = ["familiarity", "is_unfamiliar", "unfamiliar_scores"]

Float = NDArray[np.float64]
Mask = NDArray[np.bool_]

LEAST = 0.5
"""Only higher scores are flagged."""

MOST_FLAGGED = 0.1
"""At most this share of the unlabelled images is flagged, those with the highest scores."""

LOWERED = 0.7
"""The confidence of flagged images is multiplied by this."""

NEIGHBORHOOD = 11
"""Entries of a ranked list over which doubt and lack are averaged, the image itself included."""


def unfamiliar_scores(full: Float, halves: Halves, lists: NDArray[np.int32]) -> Float:
    """How unlike all labelled classes each sample is, in [0, 1], 1 being the most unlike; labelled samples have 0.

    Parameters
    ----------
    full : probabilities by the training on all labels.
    halves : what trainings on halves of the labels say.
    lists : ranked lists of the samples, each sample first in its own.
    """
    labelled = halves.codes >= 0
    near = lists[:, :NEIGHBORHOOD]
    doubt = _doubt(full, halves)[near].mean(axis=1)
    found = labelled[lists[:, 1:]].sum(axis=1)[near].mean(axis=1)
    by_chance = (lists.shape[1] - 1) * float(labelled.mean())
    lack = 1 - np.minimum(found / max(by_chance, 1e-12), 1)
    weight = -np.expm1(-by_chance / 2)
    score = 1 - (1 - doubt**2) * (1 - weight * lack**2)
    return np.where(labelled, 0.0, np.clip(score, 0, 1))


def _doubt(full: Float, halves: Halves) -> Float:
    """The doubt about each sample by itself; halves are used only for classes that both know."""
    one, other = halves.probabilities
    predicted, confidence = largest(full)
    doubt = 1 - confidence
    both_know = np.logical_and(*(np.isin(predicted, halves.codes[known]) for known in halves.known))
    disagree = by_row_blocks(lambda p, q: 1 - (p * q).sum(axis=1), one, other)
    doubt = np.where(both_know, (doubt + disagree) / 2, doubt)
    doubt[halves.codes >= 0] = 0.0
    return doubt


def is_unfamiliar(scores: Float, labelled: Mask) -> Mask:
    """Which samples stand out: those with a high score, and at most a tenth of the unlabelled ones."""
    if labelled.all():
        return np.zeros(len(scores), dtype=bool)
    limit = float(np.quantile(scores[~labelled], 1 - MOST_FLAGGED))
    return ~labelled & (scores > max(LEAST, limit))


def familiarity(unfamiliar: Mask) -> Float:
    """The factor by which each confidence is multiplied."""
    return np.where(unfamiliar, LOWERED, 1.0)
