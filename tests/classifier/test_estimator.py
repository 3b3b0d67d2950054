"""GrandeClassifier: scikit-learn's contract, labels of every kind, and answers that agree with the fit."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import torch
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from grande_gnn import (
    GrandeClassifier,
    dgcg_graph,
    grande_degree,
    knn_graph,
    ranked_lists,
    reciprocal_knn_graph,
)
from grande_gnn.classifier import tuning
from grande_gnn.classifier.halves import HalfFeatures
from grande_gnn.degree import Grande
from grande_gnn.engine.models import MODELS, PlainModel
from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError, NotEnoughMemoryError
from grande_gnn.graph import Graph
from grande_gnn.propagation import propagate

QUICK = {"hidden": 16, "epochs": 20, "lr": 0.02, "n_neighbors": 10, "device": "cpu", "random_state": 0}


def quick(model="appnp", degree="grande", **options):
    return GrandeClassifier(model, degree, **(QUICK | options))


# -- scikit-learn's contract --------------------------------------------------------------------------

CANNOT_HOLD = {
    "check_classifiers_classes": "it uses -1 as the name of a class, and here -1 means unlabelled, as in "
    "sklearn.semi_supervised"
}


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_check_estimator(model):
    results = check_estimator(
        GrandeClassifier(model, hidden=16, epochs=25, lr=0.05, random_state=0),
        expected_failed_checks=CANNOT_HOLD,
        on_skip=None,
        on_fail=None,
    )
    names = {
        status: [r["check_name"] for r in results if r["status"] == status] for status in ("failed", "xfail")
    }
    assert names == {"failed": [], "xfail": list(CANNOT_HOLD)}
    assert len(results) == 55 if sklearn.__version__.startswith("1.9.") else len(results) >= 50
    # What may be skipped depends on what else is installed, and on nothing of ours.
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped <= {"check_array_api_input", "check_classifier_data_not_an_array"}


def test_the_constructor_is_the_documented_one():
    defaults = {
        "model": "appnp", "degree": "grande", "sigma": 0.2, "graph": "reciprocal", "n_neighbors": 40,
        "normalize": "none", "hidden": 256, "n_hops": None, "alpha": 0.1, "dropout": 0.5, "weight_decay": 5e-4,
        "epochs": 200, "lr": 1e-3, "detach": False, "device": "auto", "precision": "tf32", "memory_limit": None,
        "context": None, "random_state": None,
    }  # fmt: skip
    assert GrandeClassifier().get_params() == defaults


def test_clone_and_pickle_give_the_same_answers(blobs, few):
    X, _ = blobs
    clf = quick().fit(X, few)
    new = X[:9] + 0.05
    expected = clf.predict_proba(new)
    np.testing.assert_array_equal(clone(clf).fit(X, few).predict_proba(new), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(new), expected)


def test_works_in_a_pipeline(blobs, few):
    X, _ = blobs
    pipe = make_pipeline(StandardScaler(), quick("sgc")).fit(X, few)
    np.testing.assert_array_equal(pipe.predict(X), pipe[-1].transduction_)
    ready = make_pipeline(StandardScaler(), quick("sgc")).fit(X, few, grandeclassifier__graph=pipe[-1].graph_)
    np.testing.assert_array_equal(ready.predict_proba(X), pipe.predict_proba(X))


@pytest.mark.parametrize("random_state", [0, 7])
def test_one_seed_one_answer(blobs, few, random_state):
    X, _ = blobs
    first, second, other = (
        quick(random_state=s).fit(X, few).label_distributions_ for s in (random_state, random_state, 99)
    )
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-4


def test_a_random_state_object_is_drawn_from(blobs, few):
    X, _ = blobs
    draws = [quick(random_state=np.random.RandomState(3)).fit(X, few).label_distributions_ for _ in range(2)]
    np.testing.assert_array_equal(*draws)
    state = np.random.RandomState(3)
    clf = quick(random_state=state).fit(X, few)
    before = state.get_state()[2]
    clf.predict(X + 0.1)
    assert state.get_state()[2] == before  # answering draws nothing


# -- labels -------------------------------------------------------------------------------------------


def _named(few, missing, names=("ash", "beech", "cedar"), dtype=object):
    return np.array([missing if code < 0 else names[code] for code in few], dtype=dtype)


@pytest.mark.parametrize(
    "relabel",
    [
        lambda few: _named(few, None),
        lambda few: _named(few, math.nan),
        lambda few: _named(few, -1),
        lambda few: _named(few, "", dtype=str),
        lambda few: _named(few, None).tolist(),
        lambda few: _named(few, -1, names=(10, 20, 30), dtype=int),
        lambda few: _named(few, math.nan, names=(10, 20, 30), dtype=float),
        lambda few: _named(few, None, names=(10, 20, 30)).tolist(),
    ],
    ids=["None", "NaN", "-1 beside strings", "empty", "list", "ints", "floats", "None beside ints"],
)
def test_every_way_to_say_unlabelled_is_the_same(blobs, few, relabel):
    X, _ = blobs
    plain, other = quick("sgc").fit(X, few), quick("sgc").fit(X, relabel(few))
    np.testing.assert_array_equal(other.label_distributions_, plain.label_distributions_)
    np.testing.assert_array_equal(other.transduction_, other.classes_[plain.transduction_])
    assert len(other.classes_) == 3
    assert other.predict(X[:2] + 0.01).dtype == other.classes_.dtype


def test_labels_spread(blobs, few):
    X, y = blobs
    clf = quick(epochs=100).fit(X, few)
    unlabelled = few < 0
    assert (clf.transduction_[unlabelled] == y[unlabelled]).mean() > 0.85
    np.testing.assert_allclose(clf.label_distributions_.sum(1), 1)
    assert (clf.label_distributions_ >= 0).all()
    np.testing.assert_array_equal(clf.transduction_, clf.classes_[clf.label_distributions_.argmax(1)])


def test_unlabelled_samples_teach_nothing_but_the_graph(blobs, few):
    # Their labels are never seen: any other marking of the unlabelled gives the same, and moving the
    # unlabelled moves the answer.
    X, _ = blobs
    moved = X.copy()
    moved[few < 0] += 1.0
    a, b = (quick("sgc").fit(data, few).label_distributions_ for data in (X, moved))
    assert np.abs(a[few >= 0] - b[few >= 0]).max() > 1e-6


def test_reached_says_where_no_label_comes(connected):
    graph = Graph.from_edges([0, 1, 3], [1, 2, 4], 8)
    clf = quick().fit(connected.X, [0, -1, -1, -1, -1, 1, -1, -1], graph=graph)
    assert clf.reached_.tolist() == [True, True, True, False, False, True, False, False]


def test_one_class_is_said_and_answered(blobs):
    X, _ = blobs
    y = np.where(np.arange(120) < 5, 4, -1)
    with pytest.warns(UserWarning, match="only one class is labelled"):
        clf = quick().fit(X, y)
    assert (clf.transduction_ == 4).all()
    np.testing.assert_array_equal(clf.predict_proba(X[:3] + 1), 1.0)


def test_a_class_with_one_label(blobs):
    X, y = blobs
    one_each = np.full(120, -1)
    one_each[[0, 1, 2]] = y[:3]
    clf = quick(epochs=100).fit(X, one_each)
    assert clf.classes_.tolist() == [0, 1, 2]
    assert (clf.transduction_ == y).mean() > 0.6


# -- graphs and degrees -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "build"), [("reciprocal", reciprocal_knn_graph), ("knn", knn_graph), ("dgcg", dgcg_graph)]
)
def test_named_and_ready_graphs_agree(blobs, few, name, build):
    X, _ = blobs
    graph = build(X, 10)
    named = quick(graph=name).fit(X, few)
    np.testing.assert_array_equal(named.graph_.indices, graph.indices)
    lists = ranked_lists(X, 120)
    for ready in (graph, graph.to_scipy(), lists):
        again = quick(graph=name).fit(X, few, graph=ready)
        np.testing.assert_array_equal(again.label_distributions_, named.label_distributions_)


@pytest.mark.parametrize("normalize", ["none", "l2", "center-l2"])
def test_normalised_features_are_what_is_searched_and_trained(blobs, few, normalize):
    from grande_gnn.classifier.normalizer import Normalizer

    X, _ = blobs
    by_hand = Normalizer.fit(X, normalize).transform(X)
    clf, plain = quick(normalize=normalize).fit(X, few), quick().fit(by_hand, few)
    np.testing.assert_array_equal(clf.graph_.indices, plain.graph_.indices)
    np.testing.assert_array_equal(clf.label_distributions_, plain.label_distributions_)
    new = X[:5] + 0.1
    moved = Normalizer.fit(X, normalize).transform(new)
    np.testing.assert_allclose(clf.predict_proba(new), plain.predict_proba(moved), rtol=1e-6)


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_degrees(blobs, few, model):
    X, _ = blobs
    centrality, grande = quick(model, "centrality").fit(X, few), quick(model).fit(X, few)
    np.testing.assert_array_equal(centrality.degree_, centrality.graph_.degree)
    assert (grande.degree_ >= grande.graph_.degree + 1).all()
    own = quick(model, lambda h, graph: grande_degree(h, graph, 0.2)).fit(X, few)
    np.testing.assert_allclose(own.label_distributions_, grande.label_distributions_, atol=1e-4)
    np.testing.assert_allclose(own.degree_, grande.degree_, rtol=1e-3)


def test_sigma_hops_width_and_detach_reach_the_training(blobs, few):
    X, _ = blobs
    base = quick().fit(X, few).label_distributions_
    for change in ({"sigma": 0.05}, {"n_hops": 2}, {"hidden": None}, {"detach": True}, {"alpha": 0.5}):
        assert np.abs(quick(**change).fit(X, few).label_distributions_ - base).max() > 1e-5, change


# -- answers for fitted and new samples ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", "sgc"), ("n_hops", 3), ("alpha", 0.3), ("dropout", 0.25), ("weight_decay", 0.125), ("epochs", 7),
        ("lr", 0.5), ("detach", True), ("device", "cuda"), ("precision", "highest"), ("memory_limit", 2**40),
    ],
)  # fmt: skip
def test_each_parameter_changes_its_own_setting_and_no_other(name, value):
    before = quick().settings()
    assert getattr(before, name) != value
    assert quick(**{name: value}).settings() == replace(before, **{name: value})


def test_weight_decay_shortens_the_weights(blobs, few):
    X, _ = blobs
    norms = [
        np.sqrt(sum((part**2).sum() for part in quick(weight_decay=decay).fit(X, few).parameters_.values()))
        for decay in (0.0, 0.01, 1.0)
    ]
    assert norms[0] > norms[1] > 1.5 * norms[2]


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("degree", ["grande", "centrality"])
def test_fitted_rows_get_their_transduction(blobs, few, model, degree):
    X, _ = blobs
    clf = quick(model, degree).fit(X, few)
    np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
    np.testing.assert_array_equal(
        clf.predict_proba(X[::-1].astype(np.float64)), clf.label_distributions_[::-1]
    )


def test_a_second_fit_keeps_nothing_of_the_first(blobs, few):
    X, _ = blobs
    other, new = X[::-1] * 3 + 1, X[:15] + 0.3
    fresh = quick().fit(X, few)
    twice = quick().fit(other, few[::-1]).fit(X, few)
    np.testing.assert_array_equal(twice.predict_proba(new), fresh.predict_proba(new))
    np.testing.assert_array_equal(twice.predict_proba(X), fresh.predict_proba(X))
    np.testing.assert_array_equal(twice.neighbors_.lists(10), fresh.neighbors_.lists(10))


def test_copies_get_the_answer_of_the_first(blobs, few):
    X, _ = blobs
    X = X.copy()
    X[50] = X[7]
    clf = quick().fit(X, few)
    np.testing.assert_array_equal(clf.predict_proba(X[[7, 50]]), clf.label_distributions_[[7, 7]])


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_an_answer_does_not_depend_on_other_new_samples(blobs, few, model):
    X, _ = blobs
    clf = quick(model).fit(X, few)
    new = np.vstack([X[:20] + 0.1, X[5:8], X[:3] + 50])
    together = clf.predict_proba(new)
    for i, x in enumerate(new):
        np.testing.assert_allclose(clf.predict_proba(x[None])[0], together[i], rtol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(new[::-1]), together[::-1], rtol=1e-12)


def test_new_samples_are_labelled_well(blobs, few):
    X, y = blobs
    clf = quick(epochs=100).fit(X[:90], few[:90])
    assert (clf.predict(X[90:]) == y[90:]).mean() > 0.85


# -- hard cases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("graph", ["reciprocal", "knn", "dgcg"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0, 2.0]], ["only"]),
        ([[1.0], [2.0]], [0, 1]),
        (np.ones((12, 3)), [0, 1] + [-1] * 10),
        (np.repeat(np.eye(3), 8, axis=0), [0, 1, 2] * 2 + [-1] * 18),
        (np.zeros((6, 2)), [0] * 3 + [-1] * 3),
    ],
    ids=["n=1", "n=2", "all equal", "duplicates", "zeros, one class"],
)
@pytest.mark.filterwarnings("ignore:only one class")
def test_small_and_degenerate(model, graph, X, y):
    clf = quick(model, graph=graph, n_neighbors=40).fit(X, y)  # k ≥ n
    new = np.asarray(X) + 0.5
    for answer in (clf.label_distributions_, clf.predict_proba(new)):
        assert np.isfinite(answer).all()
        np.testing.assert_allclose(answer.sum(1), 1)
    assert clf.graph_.n_nodes == len(X)
    assert set(clf.predict(new)) <= set(clf.classes_)


@pytest.mark.parametrize("sigma", [1e-3, 1e6])
def test_extreme_sigmas_stay_finite(blobs, few, sigma):
    X, _ = blobs
    clf = quick(sigma=sigma).fit(X, few)
    assert np.isfinite(clf.label_distributions_).all()
    assert np.isfinite(clf.predict_proba(X + 0.1)).all()


# -- settings left open -------------------------------------------------------------------------------

OPEN = {"graph": "auto", "n_neighbors": "auto", "normalize": "auto", "sigma": "auto"}


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_open_settings_end_as_a_committee(blobs, few, model):
    X, _ = blobs
    clf = quick(model, **OPEN).fit(X, few)
    for member in clf.committee_.members:
        chosen = vars(member.choice)
        assert chosen.keys() == OPEN.keys()
        assert "auto" not in chosen.values()
    assert len(clf.committee_.members) == 5
    np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
    again = quick(model, **OPEN).fit(X, few)
    np.testing.assert_array_equal(again.label_distributions_, clf.label_distributions_)
    np.testing.assert_array_equal(again.predict_proba(X + 0.1), clf.predict_proba(X + 0.1))


def test_fixed_settings_are_a_single_plain_training(blobs, few):
    X, _ = blobs
    clf = quick().fit(X, few)
    assert clf.selection_ is None
    assert len(clf.committee_.members) == 1
    (outcome,) = clf.problem_.train([few.astype(np.int64)], keep_models=True)
    expected = softmax(outcome.logits.astype(np.float64), axis=1)
    np.testing.assert_array_equal(clf.label_distributions_, expected)


def test_what_is_given_is_not_chosen(blobs, few):
    X, _ = blobs
    ready = knn_graph(X, 5)
    assert (
        quick(sigma="auto", normalize="l2", graph="knn", n_neighbors=7).fit(X, few).choice_.n_neighbors == 7
    )
    np.testing.assert_array_equal(quick(**OPEN).fit(X, few, graph=ready).graph_.indices, ready.indices)
    with pytest.raises(InvalidInputError, match="need a degree by name"):
        quick(degree=lambda h, graph: h.new_tensor(graph.degree), **OPEN).fit(X, few)


@pytest.mark.parametrize("y", [[0, 1] + [-1] * 10, [0, 0, 1] + [-1] * 9, [0] * 3 + [-1] * 9])
@pytest.mark.filterwarnings("ignore:only one class")
def test_too_few_labels_to_choose_by_are_no_obstacle(y):
    clf = quick(**OPEN).fit(np.random.default_rng(0).normal(size=(12, 3)), y)
    assert not clf.choice_.is_open
    assert np.isfinite(clf.label_distributions_).all()


# -- context ------------------------------------------------------------------------------------------


def test_context_is_the_same_as_unlabelled_rows(blobs, few):
    X, _ = blobs
    known = few >= 0
    order = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])
    with_context = quick(context=X).fit(X[known], few[known])
    whole = quick().fit(X[order], few[order])
    assert with_context.graph_.n_nodes == 120
    np.testing.assert_array_equal(with_context.label_distributions_, whole.label_distributions_)
    np.testing.assert_array_equal(with_context.predict(X[~known]), whole.transduction_[known.sum() :])


def test_context_keeps_copies_as_often_as_they_are_there(blobs, few):
    X, _ = blobs
    X = X.copy()
    X[[60, 70]] = X[3]  # one photo three times, one of them labelled
    clf = quick(context=X).fit(X[:30], few[:30])
    assert clf.graph_.n_nodes == 120
    assert (X[3] == clf.features_).all(1).sum() == 3


def test_context_must_have_the_same_features(blobs, few):
    X, _ = blobs
    with pytest.raises(InvalidInputError, match="context must have as many columns as X, 6; got 2"):
        quick(context=X[:, :2]).fit(X, few)


# -- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "gin"}, "model must be one of appnp, sgc, gcn, gprgnn, ppr, gat, sage; got 'gin'"),
        ({"degree": "pagerank"}, "degree must be one of grande, centrality; got 'pagerank'"),
        ({"sigma": 0}, "sigma must be a positive number.*; got 0"),
        ({"sigma": -1.0}, "sigma must be a positive number.*; got -1.0"),
        ({"sigma": None}, "sigma must be a positive number.*; got None"),
        ({"graph": "full"}, "graph must be one of reciprocal, knn, dgcg, auto; got 'full'"),
        ({"graph": None}, "graph must be one of reciprocal, knn, dgcg, auto; got None"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1; got 0"),
        ({"n_neighbors": "all"}, "n_neighbors must be an integer"),
        ({"normalize": "zscore"}, "normalize must be one of none, l2, center-l2, auto; got 'zscore'"),
        ({"hidden": 0}, "hidden must be an integer of at least 1; got 0"),
        ({"epochs": -1}, "epochs must be an integer"),
        ({"lr": 0}, "lr must be a number"),
        ({"dropout": 1.0}, "dropout must be a probability"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda; got 'tpu'"),
        ({"device": 3}, "device must be one of auto, cpu, cuda; got '3'"),
        ({"random_state": -1}, "seed must be an integer of at least 0; got -1"),
        ({"context": [[math.nan] * 6]}, "context must be finite"),
    ],
)
def test_refuses_parameters(blobs, few, options, words):
    with pytest.raises(InvalidInputError, match=words):
        quick(**options).fit(blobs[0], few)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[0.0], [math.nan]], r"X must be finite: .*; got 1 such row\(s\), the first is row 1"),
        ([[math.inf], [0.0]], "X must be finite"),
        ([[1e39], [0.0]], "X must be finite"),
        ([0.0, 1.0], "Expected 2D array"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.zeros((0, 2)), "minimum of 1 is required"),
        ([["a"], ["b"]], "could not convert string"),
        ([[0.0]], "2|one label per sample"),
    ],
)
def test_refuses_features(X, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        quick().fit(X, [0, 1])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y to be passed"),
        ([-1, -1, -1], "at least one sample must be labelled"),
        ([None, "", math.nan], "at least one sample must be labelled"),
        ([0, 1], "3 samples; got 2 labels"),
        (["a", 1, -1], "all strings or all numbers"),
        ([0.0, math.inf, 1.0], "infinity"),
        ([0.5, 1.5, 2.5], "Unknown label type"),
        (np.zeros((3, 2)), "1d array"),
    ],
)
def test_refuses_labels(y, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        quick().fit([[0.0], [1.0], [2.0]], y)
    assert "\n" not in str(caught.value)


def test_refuses_at_prediction(blobs, few):
    X, _ = blobs
    with pytest.raises(NotFittedError):
        quick().predict(X)
    clf = quick().fit(X, few)
    with pytest.raises(InvalidInputError, match="5 features, but GrandeClassifier is expecting 6"):
        clf.predict(X[:, :5])
    with pytest.raises(InvalidInputError, match="X must be finite"):
        clf.predict(np.full((1, 6), math.nan))


def test_refuses_a_graph_of_other_samples(blobs, few):
    with pytest.raises(InvalidInputError, match="120 samples; got 4 nodes"):
        quick().fit(blobs[0], few, graph=sp.eye(4))


def test_memory_is_asked_before_it_is_taken(blobs, few):
    with pytest.raises(NotEnoughMemoryError, match="needs about"):
        quick(memory_limit=1000).fit(blobs[0], few)


def test_a_torch_device_is_a_device(blobs, few):
    X, _ = blobs
    a, b = (quick(device=d).fit(X, few).label_distributions_ for d in ("cpu", torch.device("cpu")))
    np.testing.assert_array_equal(a, b)


def test_a_failed_fit_raises_only_our_errors(blobs, few):
    with pytest.raises(GrandeError):
        quick().fit(blobs[0] * 1e37, few)


def test_many_numbered_classes_are_no_regression(recwarn):
    X = np.random.default_rng(0).normal(size=(120, 8))
    y = np.where(np.arange(120) < 60, np.arange(120), -1)
    GrandeClassifier(epochs=2, n_neighbors=5).fit(X, y)
    assert [str(w.message) for w in recwarn if w.category is UserWarning] == []


# -- other labels of the same samples -------------------------------------------------------------------


def withdrawn(few):
    labels = few.copy()
    labels[:3], labels[50:52] = -1, 7  # labels withdrawn, and a new class
    return labels


def test_refit_is_fit_with_the_same_settings(blobs, few):
    X, _ = blobs
    options = {"graph": "knn", "n_neighbors": 9, "normalize": "l2", "device": "cpu", "random_state": 3}
    first = GrandeClassifier("sgc", **options).fit(X, few)
    labels = withdrawn(few)
    other = first.refit(labels)
    expected = GrandeClassifier("sgc", **options).fit(X, labels)
    assert other.classes_.tolist() == [0, 1, 2, 7]
    np.testing.assert_array_equal(other.label_distributions_, expected.label_distributions_)
    np.testing.assert_array_equal(other.predict_proba(X + 0.1), expected.predict_proba(X + 0.1))
    assert other.get_params() == expected.get_params()
    assert other.neighbors_ is first.neighbors_
    assert other.graph_ is first.graph_
    assert first.classes_.tolist() == [0, 1, 2]
    with pytest.raises(InvalidInputError, match="120 samples; got 3 labels"):
        first.refit([0, 1, 2])


def test_refit_keeps_the_members_of_a_committee_and_weighs_them_again(blobs, few):
    X, _ = blobs
    first = quick("sgc", **OPEN).fit(X, few)
    labels = np.where(
        few == 2, -1, few
    )  # members adapt to the number of classes; these were adapted to three
    other = first.refit(labels)
    assert [m.choice for m in other.committee_.members] == [m.choice for m in first.committee_.members]
    assert [m.problem.graph for m in other.committee_.members] == [
        m.problem.graph for m in first.committee_.members
    ]
    assert other.classes_.tolist() == [0, 1]
    assert other.halves_.probabilities[0].shape == (120, 2)
    same = first.refit(few)
    np.testing.assert_array_equal(same.label_distributions_, first.label_distributions_)
    np.testing.assert_array_equal(same.predict_proba(X + 0.1), first.predict_proba(X + 0.1))
    assert same.get_params() == first.get_params()


def test_halves_with_features_of_their_own_are_trained_on_them_again(blobs, few):
    """With automatic settings, too: X may depend on the labels that it would be asked about."""
    X, _ = blobs
    plain = quick("sgc", **OPEN).fit(X, few)
    noise = np.random.default_rng(0).normal(size=X.shape).astype(np.float32)
    judged = quick("sgc", **OPEN).fit(X, few, halves=HalfFeatures(plain.halves_.known, (noise, noise + 1)))
    _, codes = np.unique(few, return_inverse=True)
    again = judged.train_halves(codes - 1)
    np.testing.assert_array_equal(again.probabilities, judged.halves_.probabilities)
    assert again.held_out().hits.mean() < plain.halves_.held_out().hits.mean() - 0.2


def test_refit_knows_the_rows_of_the_context(blobs, few):
    X, _ = blobs
    first = GrandeClassifier("sgc", n_neighbors=9, device="cpu", random_state=3, context=X).fit(
        X[:60], few[:60]
    )
    labels = np.concatenate([few[:60], np.full(60, -1)])
    np.testing.assert_array_equal(first.refit(labels).label_distributions_, first.label_distributions_)


# -- a model of the user's own ------------------------------------------------------------------------


class TwoLayers(torch.nn.Module):
    """A graph convolution with two layers, as a user would write it."""

    def __init__(self, n_features, n_classes, hidden=16):
        super().__init__()
        self.first, self.second = torch.nn.Linear(n_features, hidden), torch.nn.Linear(hidden, n_classes)

    def forward(self, X, graph, degree):
        h = propagate(self.first(X), degree(X, graph), graph).relu()
        return propagate(self.second(h), degree(h, graph), graph)


def own(**options):
    return GrandeClassifier(TwoLayers, hidden=8, epochs=60, lr=0.02, random_state=0, device="cpu", **options)


def test_a_module_of_the_users_own_fits_and_answers_for_new_samples(blobs, few):
    X, y = blobs
    clf = own(n_neighbors=10).fit(X, few)
    assert np.mean(clf.transduction_ == y) > 0.8
    np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
    new = X[:7] + np.float32(0.01)
    together = clf.predict_proba(new)
    np.testing.assert_allclose(together.sum(axis=1), 1)
    np.testing.assert_allclose(together[3], clf.predict_proba(new[3:4])[0], rtol=1e-5)
    assert np.mean(clf.predict(new) == y[:7]) > 0.7


@pytest.mark.parametrize("how", ["given", "registered"])
def test_a_module_of_the_users_own_is_saved_by_name_and_given_again(blobs, few, tmp_path, how, monkeypatch):
    X, _ = blobs
    clf = own().fit(X, few)
    clf.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "model.json").read_text())["parameters"]["model"] == "TwoLayers"
    with pytest.raises(
        FileFormatError, match=r"a model of your own.*load\(folder, model=\.\.\.\).*'TwoLayers'"
    ):
        GrandeClassifier.load(tmp_path / "model")
    if how == "registered":
        monkeypatch.setitem(MODELS, "TwoLayers", PlainModel("TwoLayers", TwoLayers))
    loaded = GrandeClassifier.load(tmp_path / "model", **({"model": TwoLayers} if how == "given" else {}))
    new = X[:5] + np.float32(0.01)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict_proba(new), clf.predict_proba(new))


def test_another_module_than_the_saved_one_is_refused(blobs, few, tmp_path):
    X, _ = blobs
    own().fit(X, few).save(tmp_path / "model")
    with pytest.raises(FileFormatError, match="not a readable model folder"):
        GrandeClassifier.load(tmp_path / "model", model=torch.nn.Bilinear)


def test_a_degree_object_keeps_its_own_sigma(blobs, few):
    X, _ = blobs
    clf = quick(sigma="auto", degree=Grande(0.7)).fit(X, few)
    assert {m.choice.sigma for m in clf.committee_.members} == {0.7}
    assert {m.problem.degree.sigma for m in clf.committee_.members} == {0.7}
    fixed = quick(sigma=0.2, degree=Grande(0.7)).fit(X, few)
    np.testing.assert_array_equal(fixed.degree_, quick(sigma=0.7).fit(X, few).degree_)


def test_many_samples_have_one_graph_and_still_a_member_without_one(monkeypatch):
    """Neighbors mislead here, because the class shows in one of 30 features; a linear model finds it."""
    monkeypatch.setattr(tuning, "FEWER_ABOVE", ((500, 1),))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = rng.normal(size=(600, 30)).astype(np.float32)
    X[:, 0] += 4 * y - 2
    X[:, 1:] *= 3
    given = np.where(np.arange(600) < 150, y, -1)
    settings = {"model": "sgc", "epochs": 30, "device": "cpu", "random_state": 0}
    auto = GrandeClassifier(graph="auto", n_neighbors="auto", **settings).fit(X, given)
    assert len(auto.committee_.members) == 1
    assert auto.committee_.graph_free is not None
    assert str(auto.committee_).endswith("and logistic regression")
    named = GrandeClassifier(graph="dgcg", n_neighbors="auto", **settings).fit(X, given)
    assert named.committee_.graph_free is None
    hits = [np.mean(clf.transduction_[150:] == y[150:]) for clf in (auto, named)]
    assert hits[0] > hits[1] + 0.05
    again = auto.refit(given)
    assert again.committee_.graph_free is not None
    np.testing.assert_array_equal(again.label_distributions_, auto.label_distributions_)
