"""How much each label says about the images that have none.

A held-out label is one observation of "right or wrong", but it counts less than one

- where labels were given next to each other in file order to images that resemble each other: of m labels in a row with
  correlation r between neighbors, each after the first counts (1 − r)/(1 + r), as in a first-order autoregressive
  series; r is measured in the features, so a series of unrelated images counts in full;
- where an image is a copy of another labelled one: all copies together count once;
- where its class has more labels than its share of the images: each label is weighted by the class's share of the
  unlabelled images over its share of the labels, within bounds (importance weights). The share of the unlabelled images
  is not that of the predictions, because classes that are easy to predict are also predicted too often, on labelled and
  unlabelled images alike.

The weights are scaled so that their sum is the number of independent labels that would be worth as much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["class_weights", "copy_weights", "series_correlation", "series_weights", "with_effective_size"]

Float = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST = 3.0
"""Importance weights lie between 1/3 and 3, so that a miscounted class cannot decide the estimate."""

PSEUDO_COUNT = 2.0
"""This many labels and unlabelled images, all predicted correctly, are added to every class, so that rare classes do not
get extreme weights."""

N_STEPS = 100
"""Steps to the most likely class weights, which hardly change after a tenth of them."""

N_PAIRS = 2000
"""Pairs of each kind from which the correlation along the file order is measured."""


def series_correlation(features: NDArray[np.float32], codes: Codes) -> float:
    """How much more alike labelled images of one class are when they are neighbors in file order, in [0, 1].

    1 − (mean squared distance of neighbors) / (mean squared distance of pairs of the same class further apart).
    """
    rows = np.flatnonzero(codes >= 0)
    beside = rows[:-1][(np.diff(rows) == 1) & (codes[rows[:-1]] == codes[rows[1:]])]
    rng = np.random.default_rng(0)
    beside = beside if len(beside) <= N_PAIRS else np.sort(rng.choice(beside, N_PAIRS, replace=False))
    apart = _pairs_apart(codes, np.unique(codes[beside]), max(N_PAIRS // 4, len(beside)), rng)
    if not len(beside) or not len(apart):
        return 0.0
    near = _squared_distance(features, beside, beside + 1)
    far = _squared_distance(features, apart[:, 0], apart[:, 1])
    return float(np.clip(1 - near / far, 0, 1)) if far > 0 else 0.0


def _pairs_apart(codes: Codes, classes: Codes, count: int, rng: np.random.Generator) -> Codes:
    """Pairs of labelled samples of one class that are not neighbors in file order."""
    found = []
    for c in classes:
        rows = np.flatnonzero(codes == c)
        pairs = rng.choice(rows, size=(max(count // len(classes), 4), 2))
        found.append(pairs[np.abs(pairs[:, 0] - pairs[:, 1]) > 1])
    return np.concatenate(found) if found else np.empty((0, 2), dtype=np.int64)


def _squared_distance(features: NDArray[np.float32], one: Codes, other: Codes) -> float:
    difference = features[one].astype(np.float64) - features[other]
    return float((difference * difference).sum(axis=1).mean())


def series_weights(codes: Codes, correlation: float) -> Float:
    """One weight per sample: that of a label in a series of the same class, 0 where there is no label.

    >>> series_weights(np.array([0, 0, 0, 1, -1, 1]), 0.5).round(2).tolist()
    [1.0, 0.33, 0.33, 1.0, 0.0, 1.0]
    """
    follows = np.zeros(len(codes), dtype=bool)
    follows[1:] = codes[1:] == codes[:-1]
    weights = np.where(follows, (1 - correlation) / (1 + correlation), 1.0)
    return np.where(codes >= 0, weights, 0.0)


def copy_weights(codes: Codes, copies: Codes) -> Float:
    """One weight per sample: 1 over the number of labelled samples in its group of copies, 0 without a label."""
    known = codes >= 0
    _, group = np.unique(copies, return_inverse=True)
    labelled = np.bincount(group[known], minlength=int(group.max()) + 1)
    return np.where(known, 1 / np.maximum(labelled[group], 1), 0.0)


def class_weights(labels: Codes, counts: Float, held_out: Float, expected: Float) -> Float:
    """For each class, its share of the unlabelled samples over its share of the labels, between 1/3 and 3.

    If each label of class j counts w_j times, the mean held-out prediction changes. The weights are those under which the
    mean prediction for the unlabelled samples is most likely, found by expectation maximization (Saerens et al., 2002).
    They are 1 if both means are the same, however biased the predictions are. The more of the difference may be chance, the
    nearer they are to 1: weights that follow chance would be low where predictions happen to be right.

    Parameters
    ----------
    labels : the classes of the labels.
    counts : how many labels each counts for.
    held_out : the class probabilities of each labelled sample, by a training that did not know its label.
    expected : what the sum of ``counts · held_out`` would be with the unlabelled samples instead of the labelled ones.

    Examples
    --------
    Half of class 1 is mistaken for class 0. First, both kinds of samples have the same shares of classes; then the
    unlabelled ones have more of class 1.

    >>> labels, held_out = np.repeat([0, 1], 500), np.repeat([[1.0, 0.0], [0.5, 0.5]], 500, axis=0)
    >>> class_weights(labels, np.ones(1000), held_out, np.array([750.0, 250.0])).round(2).tolist()
    [1.0, 1.0]
    >>> class_weights(labels, np.ones(1000), held_out, np.array([625.0, 375.0])).round(2).tolist()
    [0.51, 1.49]
    """
    n_classes = held_out.shape[1]
    confusion = PSEUDO_COUNT * np.eye(n_classes)
    np.add.at(confusion, labels, counts[:, None] * held_out)
    have, wanted = confusion.sum(axis=1), expected + PSEUDO_COUNT
    weights = np.ones(n_classes)
    for _ in range(N_STEPS):
        weights *= confusion @ (wanted / (weights @ confusion)) / have
    weights **= _beyond_chance(counts, held_out, expected)
    return np.clip(weights, 1 / MOST, MOST)


def _beyond_chance(counts: Float, held_out: Float, expected: Float) -> float:
    """How much of the difference between the means is more than labels picked at random would give (James and Stein)."""
    total = float(counts.sum())
    found = counts @ held_out
    chance = float((counts**2 @ (held_out - found / max(total, 1e-300)) ** 2).sum())
    squared = float(((found - expected) ** 2).sum())
    return max(0.0, 1 - chance / squared) if squared > 0 else 0.0


def with_effective_size(counts: Float, importance: Float) -> Float:
    """Weights in proportion to ``counts · importance`` whose sum is the effective number of labels.

    ``counts`` are numbers of observations. Equal ``importance`` keeps their sum; unequal importance lowers it (Kish, 1965).
    """
    product = counts * importance
    total = product.sum()
    if total <= 0:
        return np.zeros_like(counts)
    size = total**2 / (product * importance).sum()
    return product / total * size
