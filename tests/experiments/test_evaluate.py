"""evaluate(): whose labels are known, who is scored, what the numbers mean, and what it can be given."""

import json

import numpy as np
import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from grande_gnn import evaluate, reciprocal_knn_graph
from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.degree import Custom, Grande, grande_degree
from grande_gnn.engine import Replica, Settings, register_degree, train
from grande_gnn.engine.degrees import DEGREES
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments import paper_folds
from grande_gnn.graph import ranked_lists
from grande_gnn.internal.features_file import load_features

QUICK = {"epochs": 15, "lr": 0.02, "hidden": 16, "n_neighbors": 10, "folds": 5, "repeats": 2, "device": "cpu"}


@pytest.mark.parametrize(("model", "degree"), [("sgc", "centrality"), ("appnp", "grande")])
@pytest.mark.parametrize("normalize", ["none", "center-l2"])
def test_accuracies_by_hand(blobs, model, degree, normalize):
    X, y = blobs
    (got,) = evaluate(X, y, model=model, degree=degree, normalize=normalize, random_state=3, **QUICK)
    X = Normalizer.fit(X, normalize).transform(X)
    graph = reciprocal_knn_graph(X, 10)
    settings = Settings(model=model, epochs=15, lr=0.02, seed=3, device="cpu")
    spec = 0.2 if degree == "grande" else "centrality"
    for r in range(2):
        for f, (rest, fold) in enumerate(StratifiedKFold(5).split(X, y)):
            known = np.full(120, -1)
            known[fold] = y[fold]
            (outcome,) = train(X, graph, [Replica(known, spec, r, f, 16)], 3, settings)
            expected = 100 * np.mean(outcome.predictions[rest] == y[rest])
            assert got.accuracies[r, f] == pytest.approx(expected, abs=1e-9)
    assert got.accuracy_mean == pytest.approx(got.accuracies.mean())
    assert got.accuracy_std == pytest.approx(got.accuracies.mean(1).std(ddof=1))


def test_several_sigmas_at_once_are_each_alone(blobs):
    X, y = blobs
    together = evaluate(X, y, sigma=[0.05, 0.2, 1.0], **QUICK)
    assert [e.sigma for e in together] == [0.05, 0.2, 1.0]
    for got in together:
        (alone,) = evaluate(X, y, sigma=got.sigma, **QUICK)
        np.testing.assert_array_equal(got.accuracies, alone.accuracies)


def test_seeds(blobs):
    X, y = blobs
    first, second, other = (evaluate(X, y, random_state=s, **QUICK)[0].accuracies for s in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert (first[0] != first[1]).any()  # repetitions differ too


def test_names_do_not_matter_and_ready_graphs_are_taken(blobs):
    X, y = blobs
    (plain,) = evaluate(X, y, **QUICK)
    names = np.array(["ash", "beech", "cedar"])[y]
    (named,) = evaluate(X, names, graph=reciprocal_knn_graph(X, 10), **QUICK)
    np.testing.assert_array_equal(named.accuracies, plain.accuracies)


def test_unlabelled_samples_stay_in_the_graph_and_are_not_scored(blobs):
    X, y = blobs
    some = np.where(np.arange(120) % 4 == 0, -1, y)
    (got,) = evaluate(X, some, **QUICK)
    scored = (some >= 0).sum()
    # Each accuracy is a share of the labelled samples outside the fold.
    sizes = [len(test_rows) for _, test_rows in paper_folds(some, 5)]
    np.testing.assert_allclose(
        got.accuracies / 100 * sizes, np.round(got.accuracies / 100 * sizes), atol=1e-9
    )
    assert sum(sizes) == 4 * scored
    (without,) = evaluate(X[some >= 0], some[some >= 0], **QUICK)
    assert (got.accuracies != without.accuracies).any()


def test_separable_groups_are_all_found():
    y = np.repeat([0, 1], 20)
    X = np.eye(2)[y] * 20 + np.random.default_rng(0).normal(size=(40, 2))
    for degree in ("grande", "centrality"):
        (got,) = evaluate(X, y, degree=degree, **(QUICK | {"epochs": 100}))
        assert got.accuracy_mean == 100.0


def test_a_user_function_is_named_and_has_no_sigma(blobs):
    def squared(h, graph):
        return h.new_tensor(graph.degree) ** 2

    (got,) = evaluate(*blobs, degree=squared, **QUICK)
    assert (got.degree, got.sigma) == ("squared", None)


def test_a_degree_may_be_an_object_a_function_or_registered(blobs, monkeypatch):
    monkeypatch.setattr("grande_gnn.engine.degrees.DEGREES", DEGREES)
    (named,) = evaluate(*blobs, sigma=0.3, **QUICK)
    (made,) = evaluate(*blobs, degree=Grande(0.3), sigma=[1.0, 2.0], **QUICK)
    assert (made.degree, made.sigma) == ("grande", 0.3)
    np.testing.assert_array_equal(made.accuracies, named.accuracies)

    def own(h, graph):
        return grande_degree(h, graph, 0.3)

    monkeypatch.setitem(DEGREES, "own", None)
    register_degree("own", lambda sigma: Custom(own))
    for degree in (own, "own"):
        (got,) = evaluate(*blobs, degree=degree, sigma=[1.0, 2.0], **QUICK)
        assert (got.degree, got.sigma) == ("own", None)
        np.testing.assert_allclose(got.accuracies, named.accuracies, atol=2.0)


class Linear(torch.nn.Module):
    """A network that looks at features only."""

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.layer = torch.nn.Linear(n_features, n_classes)

    def forward(self, X, graph, degree):
        return self.layer(X)


def test_a_model_may_be_a_module(blobs):
    (got,) = evaluate(*blobs, model=Linear, **QUICK)
    assert got.model == "Linear"
    assert got.accuracy_mean > 50


def test_ranked_lists_and_settings_reach_the_training(blobs):
    X, y = blobs
    (plain,) = evaluate(X, y, **QUICK)
    (listed,) = evaluate(X, y, graph=ranked_lists(X, 10), **QUICK)
    np.testing.assert_array_equal(listed.accuracies, plain.accuracies)
    (other,) = evaluate(X, y, n_hops=0, dropout=0.0, **QUICK)
    assert (other.accuracies != plain.accuracies).any()


def test_progress_counts_epochs_of_all_trainings(blobs):
    seen = []
    evaluate(*blobs, sigma=[0.2, 0.5], progress=seen.append, **QUICK)
    assert sum(seen) == 2 * 2 * 5 * 15
    assert all(type(n) is int for n in seen)


def test_rows_are_flat_and_say_what_is_undefined(blobs):
    X, y = blobs
    (got,) = evaluate(X, y, degree="centrality", **(QUICK | {"repeats": 1}))
    row = json.loads(json.dumps(got.as_row()))
    assert row["sigma"] is None
    assert row["accuracy_std"] is None  # one repetition has no spread
    assert (row["model"], row["degree"], row["folds"], row["repeats"]) == ("appnp", "centrality", 5, 1)
    assert row["accuracy_mean"] == got.accuracy_mean
    assert row["interval_low"] < row["accuracy_mean"] < row["interval_high"]
    assert row["seconds"] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "gin"}, "model must be one of"),
        ({"degree": "pagerank"}, "degree must be one of"),
        ({"sigma": 0}, "sigma must be a positive number"),
        ({"sigma": [0.2, -1]}, "sigma must be a positive number.*; got -1"),
        ({"sigma": []}, "at least one sigma"),
        ({"graph": "full"}, "graph must be one of"),
        ({"normalize": "z"}, "normalize must be one of"),
        ({"folds": 50}, "got folds=50"),
        ({"repeats": 0}, "repeats must be an integer of at least 1; got 0"),
        ({"n_neighbors": 0}, "n_neighbors must be"),
        ({"hidden": 0}, "hidden must be"),
        ({"random_state": -1}, "seed must be"),
    ],
)
def test_refuses_options(blobs, options, words):
    with pytest.raises(InvalidInputError, match=words):
        evaluate(*blobs, **(QUICK | options))


def test_refuses_data(blobs):
    X, y = blobs
    for features, labels, words in [
        (X[:9], y, "9 samples; got 120 labels"),
        (X[0], y, "must be a matrix"),
        (X * np.nan, y, "must be finite"),
        (X, np.full(120, -1), "at least one sample must be labelled"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            evaluate(features, labels, **QUICK)


# -- the reference accuracies -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected", "within"),
    [
        ({"model": "sgc", "degree": "centrality"}, 83.35, 0.4),
        ({"model": "sgc", "sigma": 0.3}, 83.8, 0.4),
        ({"model": "appnp", "degree": "centrality"}, 83.9, 0.4),
        ({"model": "appnp", "sigma": 0.2}, 85.3, 0.4),
        ({"model": "appnp", "degree": "centrality", "graph": "dgcg", "normalize": "center-l2"}, 86.8, 0.5),
        ({"model": "appnp", "sigma": 0.2, "graph": "dgcg", "normalize": "center-l2"}, 88.4, 0.5),
    ],
    ids=lambda v: "-".join(map(str, v.values())) if isinstance(v, dict) else None,
)
def test_flowers17_reaches_the_reference(shared_data, record_property, options, expected, within):
    # An independent, slow implementation of the same protocol gave these.
    content = load_features(shared_data("flowers17/features_lite0.npz"))
    (got,) = evaluate(content.features, content.labels, repeats=1, **options)
    record_property("accuracy", got.accuracy_mean)
    assert got.accuracy_mean == pytest.approx(expected, abs=within)
