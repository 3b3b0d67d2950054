"""The weight of each label in the loss when settings are automatic.

All classes count the same, whatever their number of labels: wᵢ = tᵢ / Σ_j t_j over the labels j of the same class,
scaled to mean 1. The trust tᵢ is 1 unless a training that did not know the label contradicts it with near-certainty. A
training that knows few other labels of that class cannot contradict it, or only in part: it may have seen too little of the
class. Otherwise one more label would change the weights, and with them the answer, for no good reason.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.halves import Halves

__all__ = ["balanced_weights", "trust_in_labels"]

LEAST_TRUST = 0.1
"""The trust in a label if the training is certain of another class: the label may still be right."""

SURE = 0.7
"""A label is trusted less if another class has more than this probability. With a smaller value, correct labels of hard
images would lose more weight than wrong labels."""

GOOD_ENOUGH = 0.6
"""Labels are trusted less only if at least this share of the held-out predictions is right; otherwise a disagreement
says more about the training than about the label."""

ENOUGH_LABELS = (1, 3)
"""Other labels of the class that the training knows: with the first number it contradicts nothing, from the second on it
counts fully. A single other label says little about what else belongs to the class."""

Float = NDArray[np.float64]


def balanced_weights(codes: NDArray[np.int64], trust: Float | None = None) -> Float:
    """The weight of each sample's label, 0 where it has none.

    >>> balanced_weights(np.array([0, 0, 0, 1, -1])).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0, 0.0]
    """
    labelled = codes >= 0
    trusted = np.where(labelled, 1.0 if trust is None else trust, 0.0)
    of_class = np.bincount(codes[labelled], weights=trusted[labelled])
    shares = np.where(labelled, trusted / of_class[codes], 0.0)
    return shares * (labelled.sum() / shares.sum())


def trust_in_labels(halves: Halves | None, n_samples: int) -> Float:
    """The trust in each sample's label, from :data:`LEAST_TRUST` to 1 (no reason to doubt it, or no label)."""
    trust = np.ones(n_samples)
    if halves is None:
        return trust
    held_out, answerable = halves.held_out(), halves.answerable()
    if not answerable.any() or held_out.hits[answerable].mean() < GOOD_ENOUGH:
        return trust
    p = np.exp(held_out.logits)
    places = np.arange(len(p))
    own = p[places, held_out.labels]
    p[places, held_out.labels] = 0.0
    best = p.max(axis=1)
    doubt = (best > SURE) * np.interp(_others(halves, held_out.rows), ENOUGH_LABELS, (0.0, 1.0))
    trust[held_out.rows] = np.clip(1 - doubt * best / (own + best), LEAST_TRUST, None)
    return trust


def _others(halves: Halves, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many labels of each row's class the half knows that does not know the row's own."""
    codes = halves.codes
    first, second = (
        np.bincount(codes[known], minlength=codes.max() + 1)[codes[rows]] for known in halves.known
    )
    return np.where(halves.known[0][rows], second, first)
