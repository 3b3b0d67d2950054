"""The paper's folds: which labels are known, and which samples are tested."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.folds import fold_labels, folds_fill_parts, inner_parts, paper_folds


def test_one_fold_trains_and_the_others_test():
    labels = np.array([0, 1, 2, 0, 1] * 8)
    folds = paper_folds(labels, 4)
    expected = StratifiedKFold(4, shuffle=False).split(labels, labels)
    for (train_rows, test_rows), (rest, fold) in zip(folds, expected, strict=True):
        np.testing.assert_array_equal(train_rows, fold)
        np.testing.assert_array_equal(test_rows, rest)


def test_class_sorted_data_train_on_consecutive_samples():
    labels = np.repeat([0, 1, 2], 20)
    for f, (train_rows, _) in enumerate(paper_folds(labels, 10)):
        assert train_rows.tolist() == [base + 2 * f + i for base in (0, 20, 40) for i in (0, 1)]


def test_unlabelled_samples_are_in_no_fold():
    labels = np.where(np.arange(60) % 4 == 0, -1, np.arange(60) % 2)
    seen = [np.concatenate(fold) for fold in paper_folds(labels, 3)]
    for rows in seen:
        assert sorted(rows) == np.flatnonzero(labels >= 0).tolist()


def test_a_small_class_misses_some_folds():
    labels = np.array([0] * 20 + [1] * 2)
    assert sum(bool((labels[train_rows] == 1).any()) for train_rows, _ in paper_folds(labels, 5)) == 2


@pytest.mark.parametrize(
    ("n_folds", "words"), [(1, "folds must be an integer of at least 2; got 1"), (9, r"\(8\); got folds=9")]
)
def test_refuses_folds(n_folds, words):
    with pytest.raises(InvalidInputError, match=words):
        paper_folds(np.repeat([0, 1], 8), n_folds)


@pytest.mark.parametrize("sizes", [(10, 10), (15, 15), (20, 25), (10, 30), (31, 31), (40, 3)])
@pytest.mark.parametrize("n_parts", [2, 3, 4])
def test_folds_fill_parts_where_none_is_empty(sizes, n_parts):
    codes = np.repeat([0, 1], sizes)
    parts = [inner_parts(codes[fold], n_parts) for fold, _ in paper_folds(codes, 10)]
    full = all(np.bincount(part, minlength=n_parts).min() > 0 for part in parts)
    assert folds_fill_parts(codes, 10, n_parts) == full


def test_only_training_labels_are_known():
    labels = np.array([0, 1, 2, 0])
    assert fold_labels(labels, np.array([1, 3])).tolist() == [-1, 1, -1, 0]
    assert labels.tolist() == [0, 1, 2, 0]


def test_inner_parts_are_consecutive_samples_of_each_class():
    """In file order, as the folds themselves: neighbors in the file are often near duplicates."""
    codes = np.array([0, 1, 0, 0, 1, 0, 0, 1, 0])
    assert inner_parts(codes, 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
