"""The baseline of the benchmarks trains the same models, and shares no code with what it is compared to."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from grande_gnn.degree import degree_centrality, grande_degree
from grande_gnn.experiments import paper_folds
from grande_gnn.graph import reciprocal_knn_graph
from grande_gnn.propagation import appnp, sgc

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def loop():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        return importlib.import_module("pyg_loop")


@pytest.fixture(scope="module")
def problem(loop):
    features, labels = loop.made_features(120, 256, 3)
    return features, labels, reciprocal_knn_graph(features, 10)


def diffused(model, degree, network, x, graph):
    """What the model must give, from the pure functions of this package."""
    degree_of = {
        "grande": lambda h: grande_degree(h, graph, 0.3),
        "centrality": lambda h: degree_centrality(graph),
    }
    if model == "appnp":
        h = network.head(x)
        return appnp(h, degree_of[degree](h), graph)
    linear = network.conv.lin if degree == "centrality" else network.linear
    h = linear(x)
    if degree == "grande":
        return sgc(h, grande_degree(h, graph, 0.3), graph)
    return sgc(h - linear.bias, degree_centrality(graph), graph) + linear.bias  # PyG adds the bias last


@pytest.mark.parametrize("degree", ["centrality", "grande"])
@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_models_are_the_paper_s(loop, problem, model, degree):
    features, _, graph = problem
    x, count = torch.from_numpy(features), torch.from_numpy(graph.degree).float()
    torch.manual_seed(0)
    network = loop.builder(model, degree, sigma=0.3, hidden=8)(256, 3).eval()
    ours = diffused(model, degree, network, x, graph)
    theirs = network(x, torch.stack(graph.edges()), count)
    torch.testing.assert_close(theirs, ours, rtol=1e-5, atol=1e-5)
    parameters = list(network.parameters())
    gradients = (torch.autograd.grad(out.square().mean(), parameters) for out in (theirs, ours))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_timing_trains_the_folds_in_order(loop, problem):
    features, labels, graph = problem
    splits = loop.paper_splits(labels)
    for ours, theirs in zip(paper_folds(labels), splits, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    before = torch.get_num_threads()
    timing, again = (
        loop.time_pyg(
            features, labels, graph, splits, model="sgc", trainings=2, threads=(1,), epochs=50, lr=0.01
        )
        for _ in range(2)
    )
    assert timing.accuracies.shape == (1, 2)
    assert timing.accuracies.min() > 70  # chance is 33
    assert np.array_equal(timing.accuracies, again.accuracies)
    assert timing.seconds > 0
    assert timing.threads == 1
    assert torch.get_num_threads() == before


def test_only_data_and_graph_come_from_this_package():
    tree = ast.parse((FOLDER / "pyg_loop.py").read_text(encoding="utf-8"))
    ours = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("grande_gnn")
    }
    assert ours == {"grande_gnn.internal.features_file", "grande_gnn.graph"}
    assert not [
        alias
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if "grande" in alias.name
    ]


@pytest.mark.slow
def test_the_core_benchmark_runs():
    run = [sys.executable, str(FOLDER / "core.py"), "--quick"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout.count("(>= ") == 4
