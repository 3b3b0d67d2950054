import numpy as np
import pytest

from grande_gnn.baselines import SYSTEMS
from grande_gnn.baselines.graph_networks import BUILDERS, GraphNetwork, mgcn_graph
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments import evaluate, fold_labels, paper_folds
from grande_gnn.graph import dgcg_graph, ranked_lists, reciprocal_edges
from grande_gnn.graph.rerank import lhrr, rdpac


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
        graph=BUILDERS[entry.options["graph"]](X, 12), **{k: v for k, v in SHORT.items() if k != "n_neighbors"},
    )  # fmt: skip
    np.testing.assert_allclose(accuracies, reference.accuracies[0])


def test_the_graphs(data):
    X, _ = data
    lists = ranked_lists(X, 100)
    for name, method in {"lhrr": lhrr, "rdpac": rdpac}.items():
        graph = mgcn_graph(X, 12, reranker=name, length=100)
        np.testing.assert_array_equal(graph.indices, reciprocal_edges(method(lists), 12).indices)
    counted = dgcg_graph(X, 12, count_self=True)
    np.testing.assert_array_equal(BUILDERS["dgcg-self"](X, 12).indices, counted.indices)
    assert SYSTEMS["d-grande"].options["graph"] == "dgcg-self"


def test_a_graph_may_be_a_function(data):
    X, y = data
    given = np.where(np.arange(120) < 30, y, -1)
    by_name = GraphNetwork(graph="mgcn", **SHORT).fit(X, given)
    by_function = GraphNetwork(graph=mgcn_graph, **SHORT).fit(X, given)
    np.testing.assert_array_equal(by_name.transduction_, by_function.transduction_)


@pytest.mark.parametrize(("parameter", "value"), [("graph", "tree"), ("degree", "rank"), ("model", "gcn")])
def test_refuses_what_it_does_not_know(data, parameter, value):
    X, y = data
    with pytest.raises(InvalidInputError, match=f"{parameter} must be one of .*; got '{value}'"):
        GraphNetwork(**{**SHORT, parameter: value}).fit(X, y)
