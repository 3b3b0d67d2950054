"""The weight of each label in the loss when settings are automatic.

All classes count the same, whatever their number of labels: wᵢ = tᵢ / Σ_j t_j over the labels j of the same class,
scaled to mean 1. The trust tᵢ is 1 unless a training that did not know the label contradicts it with near-certainty.
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
    doubtful = answerable & (best > SURE)
    trust[held_out.rows[doubtful]] = np.clip((own / (own + best))[doubtful], LEAST_TRUST, None)
    return trust
