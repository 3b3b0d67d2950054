"""WSEF: samples whose ranked lists agree with the list of a labelled sample take its label; then a classifier is trained.

    each labelled i proposes its label to every unlabelled j ∈ list(i) with S_ij ≥ th;
    j takes the label if all proposals to it agree, and stays unlabelled otherwise

S is a rank correlation (:mod:`grande_gnn.graph.correlation`). There is one round. The second stage is trained on the given
and the taken labels, and taken labels may be wrong.

Presotto, Valem, de Sá, Pedronette & Papa, Weakly supervised learning through rank-based contextual measures,
ICPR 2020; the presets are the settings of the authors' programs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.baselines.supervised import SVM, Supervised
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import rank_correlation, ranked_lists
from grande_gnn.graph.correlation import Measure
from grande_gnn.internal.validation import UNLABELLED, check_choice, check_integer, check_real

__all__ = ["PRESETS", "WSEF", "Preset", "expand_labels"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Preset:
    """The authors' settings for one data set."""

    depth: int
    list_length: int
    thresholds: Mapping[str, float]


_LARGER = {
    "rbo": 0.15, "intersection": 0.45, "jaccard": 0.40, "jaccard_k": 0.25, "kendall": 0.50, "spearman": 0.45,
}  # fmt: skip
_FLOWERS = {
    "rbo": 0.20, "intersection": 0.15, "jaccard": 0.45, "jaccard_k": 0.30, "kendall": 0.55, "spearman": 0.55,
}  # fmt: skip

PRESETS = {
    "flowers17": Preset(80, 400, _FLOWERS),
    "corel5k": Preset(100, 1000, _LARGER),
    "cub200": Preset(50, 1000, _LARGER),
}
"""The authors' settings by data set."""


class WSEF(System):
    """Weakly supervised expansion of the labels, then a classifier.

    Parameters
    ----------
    correlation : a name of :data:`~grande_gnn.graph.correlation.MEASURES`, or a measure.
    threshold : the smallest correlation at which a label is proposed; ``None`` = the preset's for the measure.
    depth, list_length : how many items of two lists are compared, and how many candidates each labelled sample has;
    ``None`` =
        the preset's. Both are limited by the number of samples.
    preset : a name of :data:`PRESETS`.
    classifier : the second stage, a :class:`System` or a scikit-learn classifier; ``None`` = ``SVM()``.
    """

    def __init__(
        self,
        correlation: str | Measure = "rbo",
        threshold: float | None = None,
        depth: int | None = None,
        list_length: int | None = None,
        preset: str = "flowers17",
        classifier: Any = None,
    ):
        self.correlation = correlation
        self.threshold = threshold
        self.depth = depth
        self.list_length = list_length
        self.preset = preset
        self.classifier = classifier

    def _transduce(self, X: NDArray[np.float32], codes: NDArray[np.int64]) -> Transduction:
        return self._transduce_folds(X, codes[None])[0]

    def _transduce_folds(self, X: NDArray[np.float32], folds: NDArray[np.int64]) -> list[Transduction]:
        return self._second_stage().transduce_folds(X, self.expand(X, folds))

    def expand(self, X: NDArray[np.float32], folds: NDArray[np.int64]) -> NDArray[np.int64]:
        """The codes of each fold, including the labels that samples took: the second stage is trained on them."""
        preset = PRESETS[check_choice(self.preset, PRESETS, name="preset")]
        threshold = self._threshold(preset)
        lists = ranked_lists(X, preset.list_length if self.list_length is None else self.list_length)
        depth = preset.depth if self.depth is None else check_integer(self.depth, name="depth", low=1)
        givers = np.flatnonzero((folds != UNLABELLED).any(axis=0))
        scores = rank_correlation(lists, min(depth, len(lists)), measure=self.correlation, rows=givers)
        expanded = np.stack(
            [expand_labels(lists[givers], scores, givers, codes, threshold) for codes in folds]
        )
        taken = (expanded != folds).sum(axis=1)
        logger.info("WSEF labelled %s more samples of %d", ", ".join(map(str, taken)), len(X))
        return expanded

    def _threshold(self, preset: Preset) -> float:
        if self.threshold is not None:
            return check_real(self.threshold, name="threshold", low=0.0, high=1.0)
        if not isinstance(self.correlation, str) or self.correlation not in preset.thresholds:
            raise InvalidInputError(
                f"WSEF's authors give thresholds for {', '.join(preset.thresholds)} only: pass a threshold with "
                f"another correlation; got correlation={self.correlation!r} and no threshold"
            )
        return preset.thresholds[self.correlation]

    def _second_stage(self) -> System:
        if self.classifier is None:
            return SVM()
        return self.classifier if isinstance(self.classifier, System) else _Plain(self.classifier)


class _Plain(Supervised):
    """A scikit-learn classifier as a system."""

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def _classifier(self, n_labelled: int) -> Any:
        from sklearn.base import clone

        return clone(self.estimator)


def expand_labels(
    lists: NDArray[np.int32],
    scores: NDArray[np.float64],
    givers: NDArray[np.integer],
    codes: NDArray[np.int64],
    threshold: float,
) -> NDArray[np.int64]:
    """Give each unlabelled sample the label that all proposals to it agree on.

    ``lists`` and ``scores`` have one row for each sample in ``givers``; a score of 0 proposes nothing.

    >>> lists = np.array([[0, 2, 3], [1, 3, 2]])
    >>> scores = np.array([[1.0, 0.8, 0.5], [1.0, 0.6, 0.1]])
    >>> expand_labels(lists, scores, np.array([0, 1]), np.array([5, 7, -1, -1]), 0.5).tolist()
    [5, 7, 5, -1]
    """
    proposed = (scores >= threshold) & (scores > 0) & (codes[givers] != UNLABELLED)[:, None]
    rows, columns = np.nonzero(proposed)
    label, sample = codes[givers[rows]], lists[rows, columns]
    lowest = np.full(len(codes), np.iinfo(np.int64).max)
    highest = np.full(len(codes), UNLABELLED)
    np.minimum.at(lowest, sample, label)
    np.maximum.at(highest, sample, label)
    return np.where((codes == UNLABELLED) & (lowest == highest), highest, codes)
