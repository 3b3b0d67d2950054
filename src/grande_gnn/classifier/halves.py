"""Two trainings from disjoint halves of the labels: each predicts the labels that the other was given.

The labels of each class are divided between the halves as evenly as they can be. A class with one label is known to one
half only; the other half never predicts it. Samples of one group (copies of one image) are always in the same half, so
that no half has seen a copy of what it is asked about. Labels side by side in file order stay together too, since
neighbors in a folder are often pictures of one thing; a series is cut only where a half has enough of its class.

One more label hardly changes the halves of the others: each row has a half of its own that it is put into while there is
room for its class. What the halves say about members and labels thus changes little with one more label.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from grande_gnn.classifier.held_out import HeldOut
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.internal.progress import counting_if_heard
from grande_gnn.internal.row_blocks import by_row_blocks

__all__ = ["HalfFeatures", "HalfProblems", "Halves", "split_halves", "train_halves", "without_unknown"]

SMALLEST_PROBABILITY = 1e-12
"""Stands for the probability 0 of a class that a half does not know, so that its logarithm is finite."""

Mask = NDArray[np.bool_]
Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Halves:
    """The predictions of two trainings, on disjoint halves of the labels, for every sample."""

    codes: NDArray[np.int64]
    """The class code of every sample, −1 where it has no label."""
    known: tuple[Mask, Mask]
    """Which samples' labels each half was given; disjoint, and together all labelled samples."""
    probabilities: tuple[Float, Float]
    """Class probabilities of every sample by each half: n × classes, 0 for classes that the half does not know."""

    def held_out(self) -> HeldOut:
        """For each labelled sample the log-probabilities of the half that did not know its label."""
        rows = np.flatnonzero(self.known[0] | self.known[1])
        first = self.known[0][rows][:, None]
        p = np.where(first, self.probabilities[1][rows], self.probabilities[0][rows])
        return HeldOut(rows, self.codes[rows], np.log(np.maximum(p, SMALLEST_PROBABILITY)))

    def answerable(self) -> Mask:
        """For each row of :meth:`held_out` whether the half that predicts it knows the row's class at all."""
        rows = np.flatnonzero(self.known[0] | self.known[1])
        first, second = (np.isin(self.codes[rows], self.codes[known]) for known in self.known)
        return np.where(self.known[0][rows], second, first)


@dataclass(frozen=True, eq=False)
class HalfFeatures:
    """Features for the trainings on each half of the labels, where features depend on labels.

    A network that was adapted with labels has seen them, so its features cannot judge them. Those of a network adapted with
    one half alone can judge the other half.
    """

    known: tuple[Mask, Mask]
    """Which samples' labels each network was given; disjoint."""
    features: tuple[NDArray[np.float32], NDArray[np.float32]]
    """The features of all samples by each network."""


@dataclass(frozen=True, eq=False)
class HalfProblems:
    """The learning problems of each member on the features of each half."""

    known: tuple[Mask, Mask]
    pairs: list[tuple[LearningProblem, LearningProblem]]
    """For each member its problem for the first and for the second half."""

    def for_classes(self, n_classes: int) -> HalfProblems:
        """The same problems with another number of classes."""
        pairs = [(replace(a, n_classes=n_classes), replace(b, n_classes=n_classes)) for a, b in self.pairs]
        return replace(self, pairs=pairs)

    def for_labels(self, codes: NDArray[np.int64]) -> tuple[Mask, Mask]:
        """The halves of other labels of the same samples: labels that no network has seen may be in either half."""
        labelled = codes >= 0
        one, other = (half & labelled for half in self.known)
        new = (
            split_halves(np.where(one | other, -1, codes))
            if (labelled & ~one & ~other).any()
            else (one, other)
        )
        return one | new[0], other | new[1]


def split_halves(codes: NDArray[np.int64], groups: NDArray[np.int64] | None = None) -> tuple[Mask, Mask]:
    """Divide the labelled samples into two halves, each class as evenly as its groups allow.

    Parameters
    ----------
    codes : the class code of every sample, −1 where it has no label.
    groups : a group number for every sample; samples of one group stay together. None: each is a group of its own.

    Examples
    --------
    >>> first, second = split_halves(np.array([0, 0, 1, 1, 1, -1]))
    >>> np.bincount(np.array([0, 0, 1, 1, 1])[first[:5]]).tolist(), int(second.sum())
    ([1, 2], 2)
    """
    groups = np.arange(len(codes)) if groups is None else groups
    known = codes >= 0
    in_second = np.zeros(len(codes), dtype=bool)
    decided: dict[int, bool] = {}
    limits = _limits(np.bincount(codes[known]))
    sizes = np.zeros_like(limits)
    draws = np.random.default_rng(0).random((len(codes), 2))  # a row's numbers never depend on other rows
    place, wish = draws[:, 0], draws[:, 1] < 0.5
    for rows in sorted(_series(codes), key=lambda rows: (codes[rows[0]], -len(rows), place[rows[0]])):
        code = codes[rows[0]]
        balance = sizes[0, code] - sizes[1, code] if len(rows) > 1 else 0
        second = bool(balance > 0 if balance else wish[rows[0]])
        for row in rows:
            is_full = bool(sizes[int(second), code] >= limits[int(second), code])
            in_second[row] = decided.setdefault(int(groups[row]), second != is_full)
            sizes[int(in_second[row]), code] += 1
    return known & ~in_second, known & in_second


def _limits(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The labels of each class in the first and in the second half; classes with an odd number take turns."""
    more = counts % 2 * (np.cumsum(counts % 2) % 2)
    first = counts // 2 + more
    return np.stack([first, counts - first])


def _series(codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The labelled samples in series: runs of rows that follow each other in file order and have the same label."""
    rows = np.flatnonzero(codes >= 0)
    begins = (np.diff(rows) != 1) | (np.diff(codes[rows]) != 0)
    return np.split(rows, np.flatnonzero(begins) + 1)


def train_halves(
    problem: LearningProblem,
    codes: NDArray[np.int64],
    groups: NDArray[np.int64] | None = None,
    half_problems: HalfProblems | None = None,
) -> Halves | None:
    """Train on each half; ``None`` if fewer than two classes are labelled or all labelled samples are one group."""
    known = split_halves(codes, groups) if half_problems is None else half_problems.for_labels(codes)
    if len(np.unique(codes[codes >= 0])) < 2 or not all(half.any() for half in known):
        return None
    given = [np.where(half, codes, -1) for half in known]
    advance = counting_if_heard("check", 2 * problem.settings.epochs)
    if half_problems is None:
        outcomes = problem.train(given, keep_models=True, progress=advance)
    else:
        sets = [LabelSet(half, fold) for fold, half in enumerate(given)]
        outcomes = [
            own.train([labels], keep_models=True, progress=advance)[0]
            for own, labels in zip(half_problems.pairs[0], sets, strict=True)
        ]
    one, other = (
        without_unknown(np.asarray(outcome.logits), np.unique(codes[half]))
        for outcome, half in zip(outcomes, known, strict=True)
    )
    return Halves(codes, known, (one, other))


def without_unknown(
    logits: NDArray[np.floating], known_classes: Iterable[int], temperature: float = 1.0
) -> Float:
    """Class probabilities softmax(logits / temperature), 0 for all classes but the known ones."""
    among = np.full(logits.shape[1], -np.inf)
    among[list(known_classes)] = 0.0
    return by_row_blocks(lambda z: softmax(z.astype(np.float64) / temperature + among, axis=1), logits)
