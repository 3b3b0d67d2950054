"""The predictions of trainings on halves of the labels, arranged for the estimate: for held-out labels, and for
unlabelled images.

A class with one label is known to one half only. The other half cannot predict it, so such a label is no evidence, and
of the unlabelled images a half counts only for those whose predicted class it knows. If every class has one label, no
confidence can be checked, and the confidences of the training on all labels are as good a guess as those of the halves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.halves import Halves
from grande_gnn.internal.row_blocks import largest
from grande_gnn.labelling.label_evidence import (
    class_weights,
    copy_weights,
    series_correlation,
    series_weights,
    with_effective_size,
)

__all__ = ["HalfViews", "Unlabelled", "label_weights", "view_halves"]

Float = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Predictions of the halves for unlabelled samples, one entry per half and sample that it can answer."""

    confidence: Float
    agrees: Mask
    """Whether the prediction is that of the training on all labels."""
    instead: Float | None = None
    """Other confidences that may be as good; None if held-out labels check the confidences of the halves."""

    @property
    def disagreement(self) -> float:
        """How often a half predicts another class than the training on all labels."""
        return float(1 - self.agrees.mean()) if len(self.agrees) else 0.0


@dataclass(frozen=True, eq=False)
class HalfViews:
    """Held-out predictions of the labelled samples, and predictions of the unlabelled ones by the same trainings."""

    rows: Codes
    """The labelled samples."""
    labels: Codes
    """Their given classes."""
    probabilities: Float
    """Their class probabilities by the half that did not know them."""
    answerable: Mask
    """Whether that half knows the class at all."""
    unlabelled: Unlabelled

    @property
    def confidence(self) -> Float:
        """The confidence of each held-out prediction."""
        return self.probabilities.max(axis=1)

    @property
    def right(self) -> Float:
        """1 where the held-out prediction is right, else 0."""
        return (self.probabilities.argmax(axis=1) == self.labels).astype(np.float64)


def view_halves(halves: Halves, full: Float) -> HalfViews:
    """Arrange the predictions of the halves; ``full`` are the probabilities of the training on all labels."""
    held_out, answerable = halves.held_out(), halves.answerable()
    unlabelled = np.flatnonzero(halves.codes < 0)
    predicted, sure = largest(full)
    views = _ask_halves(halves, unlabelled, predicted[unlabelled])
    if not answerable.any():
        views = replace(views, instead=sure[unlabelled])
    return HalfViews(held_out.rows, held_out.labels, np.exp(held_out.logits), answerable, views)


def _ask_halves(halves: Halves, unlabelled: Codes, predicted: Codes) -> Unlabelled:
    confidence, agrees = [], []
    for known, p in zip(halves.known, halves.probabilities, strict=True):
        can_answer = np.isin(predicted, halves.codes[known])
        asked = unlabelled[can_answer]
        winner, sure = largest(p)
        confidence.append(sure[asked])
        agrees.append(winner[asked] == predicted[can_answer])
    return Unlabelled(np.concatenate(confidence), np.concatenate(agrees))


def label_weights(views: HalfViews, halves: Halves, features: NDArray[np.float32], copies: Codes) -> Float:
    """The weight of each held-out label, 0 if it is no evidence; the sum is the effective number of labels."""
    codes = halves.codes
    once = np.minimum(series_weights(codes, series_correlation(features, codes)), copy_weights(codes, copies))
    counts = once[views.rows]
    unlabelled = (codes < 0).astype(np.float64)
    # Each label is compared with the unlabelled samples as the same half sees them.
    asked = [counts[~known[views.rows]].sum() for known in halves.known]
    expected = sum(
        n * (unlabelled @ p) / max(unlabelled.sum(), 1.0)
        for n, p in zip(asked, halves.probabilities, strict=True)
    )
    importance = class_weights(views.labels, counts, views.probabilities, np.asarray(expected))[views.labels]
    return with_effective_size(np.where(views.answerable, counts, 0.0), importance)
