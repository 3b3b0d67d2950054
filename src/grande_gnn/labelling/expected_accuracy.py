"""The expected share of right labels among the images without a given label, with an interval for all that is uncertain.

Two trainings on disjoint halves of the labels predict the labels they did not know. These hits and misses say how often a
prediction of a given confidence is right (:mod:`grande_gnn.labelling.correctness`); the same trainings' confidences in
the *unlabelled* images then give the accuracy that half of the labels reaches on them. What separates this from the
truth is not known, so each source of doubt is a random number, and the estimate is the mean and the 95 % range of

    (accuracy of a half + shift + gain) · (1 − unseen)

- accuracy of a half: drawn from the posterior of the curve, which allows for wrong labels;
- shift: labelled images may differ from the others in more than their confidence. So the difference between the accuracy
  on held-out labels and the accuracy expected on unlabelled images may be up to half smaller or half larger than it seems.
  If a test says that the labels are not a random sample (:mod:`grande_gnn.labelling.doubts`), it may be twice as large;
- gain: all labels are better than half of them. Where the training on all labels disagrees with a half, at most one of
  them is right, about as often as the half is right elsewhere. Between none and all of these cases are gained;
- unseen: images of classes that nobody labelled always get a wrong label. Good and Turing's share of them is
  f₁/n · (1 − f₁/n), where f₁ of the n labels are the only one of their class. Half of the right answers expected among
  images flagged as unfamiliar is added to it, and the truth may be anything between zero and twice this sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grande_gnn.labelling.confidence import AccuracyEstimate
from grande_gnn.labelling.correctness import Correctness

__all__ = ["AccuracyDraws", "Sources", "draw_accuracy", "flagged_share", "unseen_share"]

Float = NDArray[np.float64]

N_DRAWS = 8000
"""Draws from all sources of doubt: the ends of the interval are accurate to about 0.2 points."""

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Sources:
    """What the estimate is made of."""

    curve: Correctness
    """How often a held-out prediction of a given confidence is right."""
    confidence: Float
    """The halves' confidences in the unlabelled samples."""
    held_out: float | None
    """Weighted accuracy on held-out labels; None if there are none."""
    disagreement: float = 0.0
    """How often a half disagrees with the training on all labels, on the unlabelled samples."""
    unseen: float = 0.0
    """Of the answers that would count as right, the expected share that is wrong because nobody labelled their class."""
    n_unlabelled: int = 0
    """Number of samples whose accuracy is estimated; 0: very many."""
    instead: Float | None = None
    """Other confidences that are just as plausible; None if there are none."""
    is_random_sample: bool = True
    """Whether the labelled samples may be a random sample: no test rejects it."""


@dataclass(frozen=True, eq=False)
class AccuracyDraws:
    """Equally likely values of the accuracy, and how much of their spread each source explains."""

    values: Float
    spread: dict[str, float]
    """Standard deviation that each source has by itself, by name."""

    def estimate(self, n_labels: int) -> AccuracyEstimate:
        """Mean and 95 % interval."""
        low, high = np.quantile(self.values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return AccuracyEstimate(float(self.values.mean()), float(low), float(high), n_labels)


def unseen_share(labels: NDArray[np.int64]) -> float:
    """Good and Turing's expected share of samples from classes without a label, f₁/n · (1 − f₁/n).

    The second factor is there because one label for each class is a choice, not a sign of many more classes.

    >>> unseen_share(np.array([0, 0, 0, 1]))
    0.1875
    """
    if not len(labels):
        return 0.0
    share = float(np.sum(np.bincount(labels) == 1)) / len(labels)
    return share * (1 - share)


def flagged_share(right: Float, flagged: NDArray[np.bool_]) -> float:
    """The expected share of all right answers that flagged samples have; ``right`` is each sample's probability.

    Flagged samples are doubtful, so they have fewer right answers to lose than others.

    >>> flagged_share(np.array([0.9, 0.9, 0.2]), np.array([False, False, True]))
    0.1
    """
    return float(right[flagged].sum() / max(float(right.sum()), 1e-300))


def draw_accuracy(sources: Sources) -> AccuracyDraws:
    """Draws of the accuracy on the unlabelled samples; the same sources give the same draws."""
    rng = np.random.default_rng(0)
    curve = sources.curve
    each = curve.accuracies(sources.confidence)
    drawn = rng.choice(len(each), size=N_DRAWS, p=curve.weights)
    half = each[drawn]
    if sources.instead is not None:
        half = np.where(rng.random(N_DRAWS) < 0.5, half, curve.accuracies(sources.instead)[drawn])
    expected = float(curve.weights @ each)
    difference = 0.0 if sources.held_out is None else expected - sources.held_out
    shift = rng.uniform(-0.5, 0.5 if sources.is_random_sample else 1.0, N_DRAWS) * difference
    gain = rng.uniform(0, 1, N_DRAWS) * sources.disagreement * half
    unseen = np.minimum(rng.uniform(0, 2, N_DRAWS) * sources.unseen, 1.0)
    values = np.clip(half + shift + gain, 0, 1) * (1 - unseen)
    if sources.n_unlabelled:
        # Given its confidence, each sample is right or wrong by chance; the confidences themselves are fixed.
        within = _share_of_chance(curve.probability(sources.confidence))
        chance = np.sqrt(within * values * (1 - values) / sources.n_unlabelled)
        values = np.clip(values + chance * rng.standard_normal(N_DRAWS), 0, 1)
    spread = {
        "labels": float(half.std()),
        "shift": float(shift.std()),
        "gain": float(gain.std()),
        "unseen": float((unseen * half).std()),
    }
    return AccuracyDraws(values, spread)


def _share_of_chance(right: Float) -> float:
    """How much of the variance of right and wrong is left when each sample's probability is known.

    >>> _share_of_chance(np.array([0.8, 0.8])), round(_share_of_chance(np.array([1.0, 0.5])), 3)
    (1.0, 0.667)
    """
    mean = right.mean() if len(right) else 0.0
    total = mean * (1 - mean)
    return float((right * (1 - right)).mean() / total) if total > 0 else 1.0
