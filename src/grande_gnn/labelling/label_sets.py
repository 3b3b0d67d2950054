"""Sets of labels that hold the true one with a promised probability: conformal prediction.

A sample's score for a class is 1 − the probability that a training gives it. Held-out labels show which scores true
classes have. A class is in the set of a sample if more than a share α of the held-out scores are at least as bad:

    p(x, k) = (1 + #{held-out i : s_i ≥ s(x, k)}) / (1 + number of held-out labels)  >  α

- *split* (Vovk et al., 2005): one training on half of the labels, the other half is held out. If the labels are a random
  sample and every class has one, a set holds the true class with probability at least 1 − α. All images are in the graph
  of every training, and the held-out labels are treated like the unlabelled images, so this does not weaken the guarantee.
  A class that the half does not know has the worst score, for held-out labels as for images.
- *cross* (Vovk, 2015): both halves are held out in turn and counted together. It is used if one half alone has too few
  labels; at least 1 − 2α is guaranteed, and usually about 1 − α is reached.
- *calibrated*: if no label can be held out, the most probable classes until their calibrated probabilities reach
  1 − α. Nothing is guaranteed.

A set may lack the predicted label, or be empty: then no label is typical enough of what the held-out labels showed, and
the image should be looked at. Always adding the predicted label would make sets hold the truth more often than requested, by
five points if 95 % of the predictions are right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError

__all__ = ["LabelSets", "check_coverage", "conformal_sets", "join_labels", "likeliest_sets", "split_labels"]

Float = NDArray[np.float64]
Sets = NDArray[np.bool_]

GUARANTEES = {
    "split": "if the labels are a random sample and every class is labelled, a set holds the right label with at least "
    "{coverage:g} % probability",
    "cross": "if the labels are a random sample and every class is labelled, a set holds the right label with at least "
    "{weaker:g} % probability, usually {coverage:g} %",
    "calibrated": "nothing is guaranteed, because no label could be held out",
}
"""What each method promises."""


@dataclass(frozen=True)
class LabelSets:
    """How the sets of a labelling were made."""

    coverage: float
    """The wanted probability that a set holds the right label."""
    method: str
    """``"split"``, ``"cross"`` or ``"calibrated"``."""
    n: int
    """Held-out labels that were used."""
    warning: str = ""
    """Why the promise may not hold for these labels."""

    @property
    def guarantee(self) -> str:
        """What is promised, in words."""
        percent = 100 * self.coverage
        return GUARANTEES[self.method].format(coverage=round(percent, 2), weaker=round(2 * percent - 100, 2))


def check_coverage(coverage: float) -> float:
    """Refuse a coverage that is not a probability between a half and 1."""
    if not 0.5 <= coverage < 1:
        raise InvalidInputError(
            "coverage is the probability that a set holds the right label, from 0.5 to below 1, for example 0.9; "
            f"got {coverage:g}"
        )
    return float(coverage)


def conformal_sets(
    coverage: float, held_out: Sequence[Float], scores: Sequence[Float]
) -> tuple[Sets, str, int]:
    """Which classes are in the set of each sample, the method, and the number of held-out labels used.

    Parameters
    ----------
    coverage : 1 − α.
    held_out : for each training, the scores of the true classes of the labels it did not know.
    scores : for each training, its scores of all classes for the samples, of shape (n_samples, n_classes).
    """
    alpha = 1 - coverage
    enough = round(2 / alpha, 9) - 1
    first = held_out[0]
    if len(first) >= enough:
        return _p_values([first], scores[:1]) > alpha + 1e-12, "split", len(first)
    return _p_values(held_out, scores) > alpha + 1e-12, "cross", sum(map(len, held_out))


def _p_values(held_out: Sequence[Float], scores: Sequence[Float]) -> Float:
    as_bad = np.ones(scores[0].shape)
    for known, asked in zip(held_out, scores, strict=True):
        as_bad += len(known) - np.searchsorted(np.sort(known), asked, side="left")
    return as_bad / (1 + sum(map(len, held_out)))


def likeliest_sets(coverage: float, probabilities: Float) -> Sets:
    """The most probable classes of each sample until their probabilities sum to the coverage."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    needed = np.cumsum(ranked, axis=1) - ranked < coverage - 1e-12
    sets = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(sets, order, needed, axis=1)
    return sets


def join_labels(labels: Sequence[str]) -> str:
    r"""One cell from several labels, separated by ``|``; ``|`` and ``\`` in a label get a ``\`` in front.

    >>> join_labels(["cat", "a|b"])
    'cat|a\\|b'
    """
    return "|".join(re.sub(r"([\\|])", r"\\\1", label) for label in labels)


def split_labels(cell: str) -> list[str]:
    r"""The labels in a cell that :func:`join_labels` wrote.

    >>> split_labels("cat|a\\|b")
    ['cat', 'a|b']
    """
    if not cell:
        return []
    parts, current, escaped = [], [], False
    for letter in cell:
        if escaped or letter not in "\\|":
            current.append(letter)
            escaped = False
        elif letter == "\\":
            escaped = True
        else:
            parts.append("".join(current))
            current = []
    return [*parts, "".join(current)]
