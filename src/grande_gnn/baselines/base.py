"""The interface of every compared system: it gets features and a few labels, and returns a label for every sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.progress import counting
from grande_gnn.internal.validation import check_features, encode_labels

__all__ = ["System", "Transduction"]


class Transduction(NamedTuple):
    """A system's result for every sample: its class code, and whether any label reached it."""

    codes: NDArray[np.int64]
    reached: NDArray[np.bool_]


class System(BaseEstimator, ABC):
    """A transductive classifier with scikit-learn's interface.

    A subclass stores its constructor arguments unchanged and implements :meth:`_transduce`; one that can share work between
    folds (the graph, a batch of trainings) also overrides :meth:`_transduce_folds`. A system that draws random numbers has a
    ``random_state``; a system without it gives the same result every time.

    Attributes
    ----------
    classes_ : the class names, sorted.
    transduction_ : the class name that the system predicts for every sample. For a labelled sample it may differ from the
        given label.
    reached_ : False for samples that no label could reach, so that their labels are guesses.
    """

    classes_: NDArray[Any]
    transduction_: NDArray[Any]
    reached_: NDArray[np.bool_]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Label every row of ``X``; in ``y``, ``-1``, ``None``, NaN or ``""`` means unlabelled."""
        samples = self._check_samples(X)
        codes, self.classes_ = encode_labels(y, len(samples))
        result = self._transduce(samples, codes)
        self.transduction_ = self.classes_[result.codes]
        self.reached_ = result.reached
        return self

    def transduce_folds(self, X: ArrayLike, folds: ArrayLike) -> list[Transduction]:
        """One transduction for each row of ``folds``, which holds class codes; -1 = unlabelled."""
        samples = self._check_samples(X)
        codes = np.asarray(folds)
        if codes.ndim != 2 or codes.dtype.kind not in "iu" or codes.shape[1] != len(samples):
            raise InvalidInputError(
                f"folds must be an integer matrix, one row per fold and one column per sample ({len(samples)}); "
                f"got shape {codes.shape}, dtype {codes.dtype}"
            )
        if (codes.max(axis=1) < 0).any():
            raise InvalidInputError(
                "every fold needs a labelled sample; "
                f"got none in fold {int(np.flatnonzero(codes.max(axis=1) < 0)[0])}"
            )
        return self._transduce_folds(samples, codes.astype(np.int64))

    def _check_samples(self, X: Any) -> Any:
        """Check ``X``: it must be a matrix of features, unless a subclass works on something else."""
        return check_features(X)

    @abstractmethod
    def _transduce(self, X: Any, codes: NDArray[np.int64]) -> Transduction:
        """Label all samples from one set of labels: codes start at 0, -1 = unlabelled, and some codes may be absent."""

    def _transduce_folds(self, X: Any, folds: NDArray[np.int64]) -> list[Transduction]:
        advance, answers = counting("folds", len(folds)), []
        for codes in folds:
            answers.append(self._transduce(X, codes))
            advance(1)
        return answers
