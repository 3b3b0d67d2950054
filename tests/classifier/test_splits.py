"""Cross-validation of partly labelled data: only labelled samples are held out, and nothing leaks."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from grande_gnn import GrandeClassifier, LabelledKFold, labelled_accuracy
from grande_gnn.errors import InvalidInputError

QUICK = {"hidden": 16, "epochs": 20, "lr": 0.02, "n_neighbors": 10, "device": "cpu", "random_state": 0}


class Constant(BaseEstimator):
    """Always answers the same."""

    def __init__(self, answer=0):
        self.answer = answer

    def predict(self, X):
        return np.full(len(X), self.answer)


@pytest.mark.parametrize("shuffle", [False, True])
def test_folds_part_the_labelled_and_keep_the_rest_in_training(few, shuffle):
    y = np.random.default_rng(0).permutation(few)
    folds = list(LabelledKFold(5, shuffle=shuffle, random_state=0 if shuffle else None).split(y, y))
    labelled = np.flatnonzero(y >= 0)
    assert len(folds) == 5
    assert sorted(np.concatenate([test for _, test in folds])) == labelled.tolist()
    for train, test in folds:
        assert not set(train) & set(test)
        assert len(train) + len(test) == len(y)
        np.testing.assert_array_equal(np.bincount(y[test]), 2)  # 30 labels, 3 classes, 5 folds


def test_names_and_missing_values_split_like_codes(few):
    named = np.array([None if c < 0 else f"class {c}" for c in few], dtype=object)
    for (a, b), (c, d) in zip(
        LabelledKFold(3).split(few, few), LabelledKFold(3).split(named, named), strict=True
    ):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)


def test_shuffling_has_a_seed():
    y = np.repeat([0, 1], 20)
    tests = [
        [t.tolist() for _, t in LabelledKFold(4, shuffle=True, random_state=s).split(y, y)] for s in (0, 0, 1)
    ]
    assert tests[0] == tests[1] != tests[2]


@pytest.mark.parametrize(
    ("n_splits", "y", "words"),
    [
        (4, [0, 0, 0, 1, 1, 1, -1], "got n_splits=4 and 3 label"),
        (1, [0, 1], "n_splits must be an integer of at least 2; got 1"),
        (2, [-1, -1], "at least one sample must be labelled"),
    ],
)
def test_refuses(n_splits, y, words):
    with pytest.raises(InvalidInputError, match=words):
        list(LabelledKFold(n_splits).split(y, y))


def test_the_scorer_ignores_the_unlabelled():
    y = [0, 0, 1, -1, -1, 0]
    assert labelled_accuracy(Constant(0), y, y) == 0.75
    assert labelled_accuracy(Constant(1), y, y) == 0.25
    assert labelled_accuracy(Constant("a"), range(4), ["a", None, "b", ""]) == 0.5
    with pytest.raises(InvalidInputError, match="at least one sample must be labelled"):
        labelled_accuracy(Constant(0), [0], [-1])


def test_cross_val_score_and_grid_search(blobs, few):
    X, _ = blobs
    clf = GrandeClassifier(**QUICK, context=X)
    cv = LabelledKFold(3)
    scores = cross_val_score(clf, X, few, cv=cv, scoring=labelled_accuracy, error_score="raise")
    by_hand = []
    for train, test in cv.split(X, few):
        answer = clone(clf).fit(X[train], few[train]).predict(X[test])
        by_hand.append(np.mean(answer == few[test]))
    np.testing.assert_allclose(scores, by_hand)
    assert scores.mean() > 0.7
    search = GridSearchCV(
        clf, {"sigma": [0.2, 1.0], "degree": ["grande", "centrality"]}, cv=cv, scoring=labelled_accuracy,
        error_score="raise",
    ).fit(X, few)  # fmt: skip
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][0], scores.mean())
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.transduction_)


def test_held_out_samples_are_nodes_without_a_label(blobs, few):
    X, _ = blobs
    for train, test in LabelledKFold(3).split(X, few):
        clf = GrandeClassifier(**QUICK, context=X).fit(X[train], few[train])
        assert clf.graph_.n_nodes == len(X)
        # The same problem written out: all samples, the held-out ones marked unlabelled.
        order = np.concatenate([train, test])
        whole = GrandeClassifier(**QUICK).fit(X[order], np.append(few[train], np.full(len(test), -1)))
        np.testing.assert_array_equal(clf.label_distributions_, whole.label_distributions_)
        np.testing.assert_array_equal(clf.predict(X[test]), whole.transduction_[len(train) :])
        # Without context they join afterwards instead.
        alone = GrandeClassifier(**QUICK).fit(X[train], few[train])
        assert alone.graph_.n_nodes == len(train)


def test_says_what_it_is():
    assert repr(LabelledKFold(3)) == "LabelledKFold(n_splits=3, shuffle=False, random_state=None)"
    assert LabelledKFold(7).get_n_splits() == 7


def test_the_score_counts_labelled_samples_only(blobs, few):
    X, y = blobs
    clf = GrandeClassifier(**QUICK).fit(X, few)
    assert clf.score(X, y) == np.mean(clf.predict(X) == y)
    part = np.where(np.arange(len(y)) % 3, y, -1)
    assert clf.score(X, part) == labelled_accuracy(clf, X, part) > 0.5
    names = np.array([None if code < 0 else f"class {code}" for code in part], dtype=object)
    few_names = np.array([None if code < 0 else f"class {code}" for code in few], dtype=object)
    assert GrandeClassifier(**QUICK).fit(X, few_names).score(X, names) == clf.score(X, part)
    weight = (part == part.max()).astype(float)
    of_one = part == part.max()
    assert clf.score(X, part, weight) == pytest.approx(np.mean(clf.predict(X[of_one]) == y[of_one]))
