"""Label spreading first, then a classifier on all samples with the spread labels.

    F ← α S F + (1 − α) Y

with S the normalized affinity of the 7 nearest neighbors (Zhou et al., Learning with local and global
consistency, 2004; scikit-learn's implementation and defaults, except for the kernel: with its default RBF and
γ = 20 every affinity of CNN features underflows to zero, and all samples become class 0).

A sample that no label reaches is not used for training the second stage and is marked in ``reached_``; its
label is what the second stage predicts from its features.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines import SYSTEMS
from grande_gnn.baselines.base import System, Transduction
from grande_gnn.baselines.supervised import quiet_fit
from grande_gnn.internal.validation import UNLABELLED, check_choice

__all__ = ["SECOND_STAGES", "SpreadThenClassify"]

SECOND_STAGES = ("knn", "svm", "opf", "ml-perc")
"""The classifiers that the paper trains after label spreading."""

log = logging.getLogger(__name__)


class SpreadThenClassify(System):
    """Label spreading over ``n_neighbors`` (including the sample itself), then the classifier ``second`` on every sample."""

    def __init__(
        self,
        second: str = "knn",
        n_neighbors: int = 7,
        alpha: float = 0.2,
        max_iter: int = 30,
        random_state: int | None = None,
    ):
        self.second = second
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.max_iter = max_iter
        self.random_state = random_state

    def _transduce(self, X: NDArray[np.float32], codes: NDArray[np.int64]) -> Transduction:
        return self._transduce_folds(X, codes[None])[0]

    def _transduce_folds(self, X: NDArray[np.float32], folds: NDArray[np.int64]) -> list[Transduction]:
        second = SYSTEMS[check_choice(self.second, SECOND_STAGES, name="second")]
        affinity = self._affinity(X)
        spread = np.stack([self._spread(X, affinity, codes) for codes in folds])
        answers = second.make(random_state=self.random_state).transduce_folds(X, spread)
        return [
            Transduction(answer.codes, codes != UNLABELLED)
            for answer, codes in zip(answers, spread, strict=True)
        ]

    def _affinity(self, X: NDArray[np.float32]) -> Any:
        """The graph of nearest neighbors, as with scikit-learn's ``kernel="knn"``, computed once for all folds."""
        from sklearn.neighbors import NearestNeighbors

        k = min(self.n_neighbors, len(X))
        return NearestNeighbors(n_neighbors=k).fit(X).kneighbors_graph(X, mode="connectivity")

    def _spread(self, X: NDArray[np.float32], affinity: Any, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The spread labels, -1 where no label arrived."""
        from sklearn.semi_supervised import LabelSpreading

        spreading = LabelSpreading(
            kernel=lambda *_: affinity.copy(), alpha=self.alpha, max_iter=self.max_iter
        )
        quiet_fit(spreading, X, codes)
        arrived = spreading.label_distributions_.sum(axis=1) > 0
        if not arrived.all():
            log.info("label spreading did not reach %d of %d samples", (~arrived).sum(), len(X))
        return np.where(arrived, spreading.transduction_, UNLABELLED)
