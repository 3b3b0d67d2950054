"""Weakly supervised expansion against its definition, and what the second stage is shown."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC

from grande_gnn.baselines.opf import OPF
from grande_gnn.baselines.supervised import KNN, SVM
from grande_gnn.baselines.wsef import PRESETS, WSEF, expand_labels
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import rank_correlation, ranked_lists
from grande_gnn.graph.correlation import MEASURES, jaccard


def blobs(n=90, distance=2.5):
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    return (rng.normal(size=(n, 4)) + distance * rng.normal(size=(3, 4))[truth]).astype(np.float32), truth


def some_labels(truth, *, seed=0, share=0.1):
    known = np.random.default_rng(seed).random(len(truth)) < share
    known[:3] = True
    return np.where(known, truth, -1)


def expand_definition(X, codes, depth, length, measure, threshold):
    """Every labelled sample proposes, in plain Python."""
    lists = ranked_lists(X, length)
    scores = rank_correlation(lists, depth, measure=measure)
    proposals = {j: set() for j in range(len(X))}
    for i in np.flatnonzero(codes >= 0):
        for c, j in enumerate(lists[i]):
            if scores[i, c] >= threshold and scores[i, c] > 0:
                proposals[j].add(codes[i])
    result = codes.copy()
    for j, labels in proposals.items():
        if codes[j] < 0 and len(labels) == 1:
            result[j] = labels.pop()
    return result


@pytest.mark.parametrize("measure", MEASURES)
def test_expansion_equals_its_definition(measure):
    X, truth = blobs()
    codes = some_labels(truth)
    for threshold in (0.0, 0.3, 0.6):
        system = WSEF(measure, threshold, depth=15, list_length=40)
        expected = expand_definition(X, codes, 15, 40, measure, threshold)
        np.testing.assert_array_equal(system.expand(X, codes[None])[0], expected)


def test_a_sample_with_conflicting_proposals_stays_unlabelled():
    lists = np.array([[0, 2, 3], [1, 2, 4]])
    scores = np.array([[1.0, 0.9, 0.9], [1.0, 0.3, 0.9]])
    codes = np.array([0, 1, -1, -1, -1])
    givers = np.array([0, 1])
    assert expand_labels(lists, scores, givers, codes, 0.3).tolist() == [0, 1, -1, 0, 1]
    assert expand_labels(lists, scores, givers, codes, 0.31).tolist() == [0, 1, 0, 0, 1]


def test_given_labels_are_never_changed():
    lists = np.array([[0, 1], [1, 0]])
    codes = np.array([4, 2])
    assert expand_labels(lists, np.ones((2, 2)), np.array([0, 1]), codes, 0.0).tolist() == [4, 2]


def test_a_score_of_zero_never_proposes():
    lists = np.array([[0, 1]])
    codes = np.array([0, -1])
    assert expand_labels(lists, np.array([[1.0, 0.0]]), np.array([0]), codes, 0.0).tolist() == [0, -1]


def test_the_second_stage_is_trained_on_the_expanded_labels():
    seen = []

    class Spy(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            seen.append((len(X), y.copy()))
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.zeros(len(X), dtype=np.int64)

    X, truth = blobs(distance=0.5)  # so close that some guesses are wrong
    codes = some_labels(truth)
    system = WSEF(depth=15, list_length=40, classifier=Spy())
    expanded = system.expand(X, codes[None])[0]
    assert (expanded >= 0).sum() > (codes >= 0).sum()
    assert (expanded[expanded >= 0] != truth[expanded >= 0]).any()
    system.fit(X, codes)
    np.testing.assert_array_equal(seen[0][1], expanded[expanded >= 0])


def test_folds_together_equal_folds_alone():
    X, truth = blobs()
    folds = np.stack([some_labels(truth, seed=s) for s in range(3)])
    system = WSEF(depth=15, list_length=40)
    together = system.transduce_folds(X, folds)
    for codes, answer in zip(folds, together, strict=True):
        np.testing.assert_array_equal(system.fit(X, codes).transduction_, answer.codes)


def test_systems_and_scikit_learn_classifiers_are_second_stages():
    X, truth = blobs()
    codes = some_labels(truth)
    answers = [
        WSEF(depth=15, list_length=40, classifier=second).fit(X, codes).transduction_
        for second in (None, SVM(), SVC())
    ]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])
    for second in (OPF(), KNN(3)):
        assert np.mean(WSEF(classifier=second, depth=15).fit(X, codes).transduction_ == truth) > 0.6


def test_names_and_one_class_and_few_samples():
    X, truth = blobs(12)
    names = np.array(["a", "b", "c"])[truth].astype(object)
    names[5:] = None
    assert set(WSEF().fit(X, names).transduction_) <= {"a", "b", "c"}
    assert set(WSEF().fit(X, np.where(np.arange(12) < 2, 7, -1)).transduction_) == {7}


def test_presets_hold_every_published_measure():
    for preset in PRESETS.values():
        assert set(preset.thresholds) == {
            "rbo",
            "intersection",
            "jaccard",
            "jaccard_k",
            "kendall",
            "spearman",
        }
        assert set(preset.thresholds) <= set(MEASURES)


def test_is_a_scikit_learn_estimator():
    system = WSEF("jaccard", classifier=KNN(3))
    assert clone(system).get_params()["classifier__n_neighbors"] == 3


@pytest.mark.parametrize(
    ("system", "words"),
    [
        (WSEF(preset="pets"), "preset must be one of flowers17, corel5k, cub200; got 'pets'"),
        (WSEF("jaccard_max"), "pass a threshold .* got correlation='jaccard_max'"),
        (WSEF(jaccard), "pass a threshold"),
        (WSEF("cosine", 0.5), "measure must be one of rbo"),
        (WSEF(threshold=1.5), r"threshold must be a number in \[0, 1\]; got 1.5"),
        (WSEF(depth=0), "depth must be an integer of at least 1; got 0"),
        (WSEF(depth=30, list_length=20), "got depth 30 and lists of length 20"),
    ],
)
def test_says_what_is_wrong(system, words):
    X, truth = blobs()
    with pytest.raises(InvalidInputError, match=words):
        system.fit(X, some_labels(truth))


def test_flowers17_takes_half_the_samples_and_mostly_rightly(shared_data):
    file = np.load(shared_data("flowers17/features_lite0.npz"))
    truth = file["labels"].astype(np.int64)
    first_of_class = np.array([np.flatnonzero(truth[:i] == truth[i]).size < 8 for i in range(len(truth))])
    codes = np.where(first_of_class, truth, -1)
    expanded = WSEF().expand(file["features"], codes[None])[0]
    taken = (codes < 0) & (expanded >= 0)
    assert 500 < taken.sum() < 1000
    assert np.mean(expanded[taken] == truth[taken]) > 0.85


def test_the_presets_are_the_authors_settings():
    sizes = {name: (preset.depth, preset.list_length) for name, preset in PRESETS.items()}
    assert sizes == {"flowers17": (80, 400), "corel5k": (100, 1000), "cub200": (50, 1000)}
    larger = {
        "rbo": 0.15, "intersection": 0.45, "jaccard": 0.4, "jaccard_k": 0.25, "kendall": 0.5, "spearman": 0.45
    }  # fmt: skip
    flowers = {
        "rbo": 0.2, "intersection": 0.15, "jaccard": 0.45, "jaccard_k": 0.3, "kendall": 0.55, "spearman": 0.55
    }  # fmt: skip
    assert PRESETS["corel5k"].thresholds == PRESETS["cub200"].thresholds == larger
    assert PRESETS["flowers17"].thresholds == flowers
