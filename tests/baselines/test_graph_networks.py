"""Graph systems: the paper's protocol on their graph, with their degree."""

import numpy as np
import pytest

from grande_gnn.baselines import SYSTEMS
from grande_gnn.baselines.graph_networks import GraphNetwork
from grande_gnn.degree import Grande
from grande_gnn.engine.models import APPNP
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments import evaluate, fold_labels, paper_folds
from grande_gnn.graph import build_graph, mgcn_graph


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    y = np.arange(120) % 3
    X = (rng.normal(size=(3, 6)))[y] + rng.normal(size=(120, 6))
    return X.astype(np.float32), y


SHORT = {"n_neighbors": 12, "epochs": 20, "hidden": 8, "lr": 0.02, "device": "cpu", "random_state": 1}


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("name", ["grande", "dgcg", "mgcn", "d-grande"])
def test_is_the_papers_protocol_on_that_graph(data, name, model):
    X, y = data
    entry = SYSTEMS[name]
    splits = paper_folds(y, 4)
    folds = np.stack([fold_labels(y, train) for train, _ in splits])
    ours = entry.make(model=model, **SHORT).transduce_folds(X, folds)
    accuracies = [
        100 * np.mean(fold.codes[test] == y[test]) for fold, (_, test) in zip(ours, splits, strict=True)
    ]
    (reference,) = evaluate(
        X, y, model=model, degree=entry.options["degree"], folds=4, repeats=1,
        graph=build_graph(entry.options["graph"], X, 12), **{k: v for k, v in SHORT.items() if k != "n_neighbors"},
    )  # fmt: skip
    np.testing.assert_allclose(accuracies, reference.accuracies[0])


def test_a_graph_may_be_a_function(data):
    X, y = data
    given = np.where(np.arange(120) < 30, y, -1)
    by_name = GraphNetwork(graph="mgcn", **SHORT).fit(X, given)
    by_function = GraphNetwork(graph=mgcn_graph, **SHORT).fit(X, given)
    np.testing.assert_array_equal(by_name.transduction_, by_function.transduction_)


def test_a_degree_may_be_an_object_and_a_model_a_module(data):
    X, y = data
    given = np.where(np.arange(120) < 30, y, -1)
    by_name = GraphNetwork(sigma=0.3, **SHORT).fit(X, given)
    by_object = GraphNetwork(degree=Grande(0.3), model=APPNP(), **SHORT).fit(X, given)
    np.testing.assert_array_equal(by_name.transduction_, by_object.transduction_)


def test_without_a_seed_every_fit_is_another(data):
    X, y = data
    given = np.where(np.arange(120) < 9, y, -1)
    system = GraphNetwork(**(SHORT | {"random_state": None, "epochs": 1}))
    answers = [system.fit(X, given).transduction_ for _ in range(4)]
    assert any((answer != answers[0]).any() for answer in answers[1:])


@pytest.mark.parametrize(("parameter", "value"), [("graph", "tree"), ("degree", "rank"), ("model", "gin")])
def test_refuses_what_it_does_not_know(data, parameter, value):
    X, y = data
    with pytest.raises(InvalidInputError, match=f"{parameter} must be one of .*; got '{value}'"):
        GraphNetwork(**{**SHORT, parameter: value}).fit(X, y)
