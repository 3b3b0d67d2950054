"""What every system inherits: class names in and out, folds checked once, reached samples."""

import numpy as np
import pytest
from sklearn.base import clone

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.errors import InvalidInputError


class Majority(System):
    """Every sample gets the most frequent label; those with a negative feature are not reached."""

    def __init__(self, bonus: int = 0):
        self.bonus = bonus

    def _transduce(self, X, codes):
        counts = np.bincount(codes[codes >= 0])
        counts[0] += self.bonus
        return Transduction(np.full(len(X), counts.argmax()), X[:, 0] >= 0)


X = np.array([[-1.0], [1.0], [2.0], [3.0]])


def test_labels_come_back_as_class_names():
    system = Majority().fit(X, ["wren", None, "owl", "wren"])
    assert system.classes_.tolist() == ["owl", "wren"]
    assert system.transduction_.tolist() == ["wren"] * 4
    assert system.reached_.tolist() == [False, True, True, True]
    assert clone(Majority(5)).fit(X, ["wren", "", "owl", "wren"]).transduction_.tolist() == ["owl"] * 4


def test_each_fold_is_answered_from_its_own_labels():
    first, second = Majority().transduce_folds(X, [[0, 2, 2, -1], [-1, -1, 1, -1]])
    assert first.codes.tolist() == [2] * 4
    assert second.codes.tolist() == [1] * 4
    assert first.reached.tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        ([0, 1, 0, 1], r"one row per fold and one column per sample \(4\); got shape \(4,\)"),
        ([[0, 1, 0]], r"got shape \(1, 3\)"),
        ([[0.0, 1.0, 0.0, 1.0]], "dtype float64"),
        ([[0, 1, 0, 1], [-1, -1, -1, -1]], "every fold needs a labelled sample; got none in fold 1"),
    ],
)
def test_folds_are_checked(folds, words):
    with pytest.raises(InvalidInputError, match=words):
        Majority().transduce_folds(X, folds)


def test_a_system_needs_its_transduction():
    with pytest.raises(TypeError, match="abstract"):
        System()
