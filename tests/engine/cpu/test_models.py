"""The engine's hand-written gradients against autograd of the definitions, for every parameter."""

import numpy as np
import pytest
import torch

from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.build import build_model
from grande_gnn.engine.cpu.models import FixedSGC
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.errors import InvalidInputError

CPU = torch.device("cpu")


def built(problem, replicas, settings):
    return build_model(torch.from_numpy(problem.X), problem.graph, replicas, problem.c, settings)


def assert_gradients_equal(problem, plain, replicas, settings):
    model = built(problem, replicas, settings)
    model.backward(model.labelled.loss_gradient(model.forward()))
    for p in model.all_parameters():
        p.data = p.grad  # so that of_replica cuts gradients as it cuts parameters
    for r, replica in enumerate(replicas):
        expected = plain.start(problem.X, problem.graph, replica, problem.c, settings).gradients()
        got = model.of_replica(r)
        assert got.keys() == expected.keys()
        for name, value in expected.items():
            scale = value.abs().max().item()
            np.testing.assert_allclose(got[name] / scale, value / scale, atol=2e-5, err_msg=f"{name} of {r}")


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("hidden", [None, 16])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("sgc", {}),
        ("appnp", {}),
        ("appnp", {"n_hops": 3, "alpha": 0.0, "dropout": 0.0}),
        ("sgc", {"n_hops": 0}),
    ],
)
def test_sigmas_centrality_folds_and_repetitions_in_one_batch(problem, plain, model, options, hidden, detach):
    settings = Settings(model=model, detach=detach, seed=5, device="cpu", **options)
    degrees = [0.05, 0.2, 1.0] + ([] if model == "sgc" else ["centrality"])
    other = np.where(np.arange(40) >= 22, np.arange(40) % 3, -1)
    replicas = [
        Replica(labels, degree, r, f, hidden)
        for r in range(2) for f, labels in enumerate((problem.labels, other)) for degree in degrees
    ]  # fmt: skip
    assert_gradients_equal(problem, plain, replicas, settings)


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_user_functions(problem, plain, custom_degree, model, detach):
    settings = Settings(model=model, detach=detach, device="cpu")
    constant = lambda h, graph: torch.from_numpy(graph.degree).to(h) ** 0.5  # noqa: E731
    replicas = [Replica(problem.labels, f, 0, i, 16) for i, f in enumerate((custom_degree, constant))]
    assert_gradients_equal(problem, plain, replicas, settings)


def test_fixed_sgc(problem, plain):
    settings = Settings(model="sgc", device="cpu")
    other = np.where(np.arange(40) >= 22, np.arange(40) % 3, -1)
    relabelled = np.where(problem.labels >= 0, (problem.labels + 1) % 3, -1)  # same rows, other classes
    replicas = [
        Replica(labels, "centrality", r, f)
        for r in range(2) for f, labels in enumerate((problem.labels, other, relabelled))
    ]  # fmt: skip
    model = built(problem, replicas, settings)
    assert isinstance(model, FixedSGC)
    Z, _, degree = model.evaluate()
    for r, replica in enumerate(replicas):
        one = plain.start(problem.X, problem.graph, replica, problem.c, settings)
        np.testing.assert_allclose(Z[r], one.logits().detach(), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(degree, np.tile(problem.graph.degree, (6, 1)))
    assert_gradients_equal(problem, plain, replicas, settings)


def test_the_loss_gradient_is_that_of_the_mean_cross_entropy(problem):
    one = np.where(np.arange(40) == 3, 1, -1)
    rows = LabelledRows([Replica(problem.labels), Replica(one)], CPU)
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(19, 3))).requires_grad_()
    cross_entropy = torch.nn.functional.cross_entropy
    target = torch.from_numpy(problem.labels[problem.labels >= 0])
    loss = cross_entropy(logits[:18], target) + cross_entropy(logits[18:], torch.tensor([1]))
    (expected,) = torch.autograd.grad(loss, logits)
    np.testing.assert_allclose(rows.loss_gradient(logits.detach()), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda h, graph: h,
        lambda h, graph: h[:, 0] * 0,
        lambda h, graph: h[:, 0] * torch.nan,
        lambda h, graph: h[:3, 0].exp(),
        lambda h, graph: 2.0,
        lambda h, graph: graph.degree,
    ],
)
def test_refuses_a_function_that_is_no_degree(problem, function):
    replicas = [Replica(problem.labels, function)]
    with pytest.raises(InvalidInputError, match="a degree function must return one positive number a node"):
        built(problem, replicas, Settings(device="cpu")).forward()
