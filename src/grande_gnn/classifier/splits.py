"""Cross-validation for partly labelled samples.

Ordinary splitters put unlabelled samples into test folds, where nothing can be scored.
:class:`LabelledKFold` splits the labelled samples only, and every unlabelled sample is in every training set (it has no
label, but it belongs to the graph). To keep the *held-out* samples in the graph too, as unlabelled ones, give the
classifier all samples as its ``context``:

>>> from sklearn.datasets import load_iris
>>> from sklearn.model_selection import cross_val_score
>>> from grande_gnn import GrandeClassifier
>>> X, y = load_iris(return_X_y=True)
>>> y[::2] = -1
>>> clf = GrandeClassifier("sgc", context=X, epochs=50, random_state=0)
>>> cross_val_score(clf, X, y, cv=LabelledKFold(3), scoring=labelled_accuracy).shape
(3,)
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from grande_gnn.classifier.label_checks import one_line_errors
from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_integer, check_seed, encode_labels

__all__ = ["LabelledKFold", "ScoredByLabels", "labelled_accuracy"]


class LabelledKFold:
    """Stratified folds of the labelled samples; the unlabelled ones are in every training set.

    Parameters
    ----------
    n_splits : number of folds.
    shuffle : whether to shuffle each class before splitting.
    random_state : seed of the shuffling.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1, -1])
    >>> [(train.tolist(), test.tolist()) for train, test in LabelledKFold(2).split(y, y)]
    [([1, 3, 4], [0, 2]), ([0, 2, 4], [1, 3])]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: int | None = None) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def split(
        self, X: Any, y: ArrayLike, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield (train, test) rows; test rows are labelled, train rows are all others."""
        n_splits = check_integer(self.n_splits, name="n_splits", low=2)
        codes, _ = encode_labels(y)
        labelled = np.flatnonzero(codes >= 0)
        smallest = int(np.bincount(codes[labelled]).min())
        if smallest < n_splits:
            raise InvalidInputError(
                "every class needs a labelled sample in every fold: label more samples or use fewer splits; "
                f"got n_splits={n_splits} and {smallest} label(s) in the smallest class"
            )
        with one_line_errors():
            folds = StratifiedKFold(n_splits, shuffle=self.shuffle, random_state=self._seed())
        for _, held_out in folds.split(labelled, codes[labelled]):
            test = labelled[held_out]
            yield np.setdiff1d(np.arange(len(codes)), test), test

    def _seed(self) -> Any:
        if isinstance(self.random_state, numbers.Integral):
            return check_seed(self.random_state)
        return None if self.random_state is None else check_random_state(self.random_state)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def __repr__(self) -> str:
        return f"LabelledKFold(n_splits={self.n_splits}, shuffle={self.shuffle}, random_state={self.random_state})"


def labelled_accuracy(estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """A scorer: accuracy in [0, 1] over the labelled samples; unlabelled ones are ignored."""
    codes, classes = encode_labels(y)
    labelled = np.flatnonzero(codes >= 0)
    predicted = np.asarray(estimator.predict(X))[labelled]
    weights = None if sample_weight is None else np.asarray(sample_weight)[labelled]
    return float(np.average(predicted == classes[codes[labelled]], weights=weights))


class ScoredByLabels(ClassifierMixin):
    """A classifier whose ``score`` counts labelled samples only, as y of a semi-supervised classifier may lack labels."""

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy in [0, 1] over the samples that have a label in y."""
        return labelled_accuracy(self, X, y, sample_weight)
