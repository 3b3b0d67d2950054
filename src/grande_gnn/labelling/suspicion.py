"""Given labels that look wrong: a training that did not know them is sure of another class.

How likely it is that a label is wrong, and not the prediction that contradicts it, follows from the posterior of
:mod:`grande_gnn.labelling.correctness`. It grows with the confidence of the prediction and with the share of wrong labels
among all, and is larger if the label's class is not even the runner-up. In clean data hardly any label is suspicious,
however many predictions are wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grande_gnn.labelling.correctness import Correctness

__all__ = ["own_shares", "suspicious_labels"]

Float = NDArray[np.float64]

EXPONENTS = (1.0, 1.5, 2.0)
"""How sharply the share of a class may fall with its probability. Which of them fits depends on the data: if a prediction
is wrong, the right class is the runner-up more often than the probabilities say, because with few labels every class keeps
some probability. On hard data this is hardly so."""

WRONG_ABOVE = 0.3
"""A label is suspicious if it is wrong with more than this probability: the posterior is cautious, and most labels above
it are wrong (docs/confidence.md)."""


def own_shares(probabilities: Float, labels: NDArray[np.int64]) -> Float:
    """How much of the probability that the winner leaves belongs to the label's class; 1 if the label is the winner.

    One column for each of the exponents: the other classes share in proportion to that power of their probabilities.
    """
    rows = np.arange(len(labels))
    best = probabilities.argmax(axis=1)
    columns = []
    for exponent in EXPONENTS:
        powers = probabilities**exponent
        powers[rows, best] = 0.0
        own = powers[rows, labels] / np.maximum(powers.sum(axis=1), 1e-300)
        columns.append(np.where(best == labels, 1.0, own))
    return np.stack(columns, axis=1)


def suspicious_labels(
    curve: Correctness, probabilities: Float, labels: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """(position, suggested class) of labels that are probably wrong, the most likely mistakes first.

    Parameters
    ----------
    curve : how often predictions are right, and labels wrong.
    probabilities : of labelled samples, by a training that did not know their label.
    labels : the given classes.
    """
    best, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    contradicted = np.flatnonzero(best != labels)
    own = own_shares(probabilities, labels)[contradicted]
    likely = curve.wrong_label(sure[contradicted], own, probabilities.shape[1])
    order = np.argsort(-likely, kind="stable")
    return [(int(contradicted[i]), int(best[contradicted[i]])) for i in order if likely[i] > WRONG_ABOVE]
