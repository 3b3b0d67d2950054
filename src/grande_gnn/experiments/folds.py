"""The paper's folds: stratified, in file order; one fold is labelled and the others are tested."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_integer

__all__ = ["fold_labels", "folds_fill_parts", "inner_parts", "paper_folds"]


def paper_folds(
    labels: NDArray[np.int64], n_folds: int = 10
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(train, test) rows of each fold: the fold is trained on and the others are tested; codes of −1 are in neither.

    >>> [(train.tolist(), test.tolist()) for train, test in paper_folds(np.array([0, 0, 1, 1]), 2)]
    [([0, 2], [1, 3]), ([1, 3], [0, 2])]
    """
    n_folds = check_integer(n_folds, name="folds", low=2)
    labelled = np.flatnonzero(labels >= 0)
    largest = int(np.bincount(labels[labelled]).max())
    if largest < n_folds:
        raise InvalidInputError(
            f"every fold needs labelled samples: use at most as many folds as the largest class has labels ({largest}); "
            f"got folds={n_folds}"
        )
    with warnings.catch_warnings():
        # A class with fewer than n_folds labels is missing from some folds, which is allowed.
        warnings.simplefilter("ignore", UserWarning)
        splits = list(StratifiedKFold(n_folds, shuffle=False).split(labelled, labels[labelled]))
    return [(labelled[fold], labelled[rest]) for rest, fold in splits]


def fold_labels(labels: NDArray[np.int64], train_rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The labels with only ``train_rows`` known."""
    known = np.full_like(labels, -1)
    known[train_rows] = labels[train_rows]
    return known


def inner_parts(codes: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """The number of the part that each labelled sample of a fold is in: every class is split into equal, consecutive parts.

    >>> inner_parts(np.array([0, 0, 0, 1, 1, 1]), 3).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    part = np.empty(len(codes), dtype=np.int64)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        part[members] = np.arange(len(members)) * n_parts // len(members)
    return part


def folds_fill_parts(codes: NDArray[np.int64], n_folds: int, n_parts: int) -> bool:
    """Whether every fold can be split into ``n_parts`` without an empty part: its largest class has that many labels."""
    return all(np.bincount(codes[fold]).max() >= n_parts for fold, _ in paper_folds(codes, n_folds))
