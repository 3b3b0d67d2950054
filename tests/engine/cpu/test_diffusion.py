"""The hand-written gradients of a diffusion model against autograd of the definitions, for every parameter."""

import numpy as np
import pytest
import torch

from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.cpu.diffusion import sigmas_and_uses
from grande_gnn.errors import InvalidInputError


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
def test_sigmas_centrality_folds_and_repetitions_in_one_batch(
    problem, assert_gradients_equal, model, options, hidden, detach
):
    settings = Settings(model=model, detach=detach, seed=5, device="cpu", **options)
    degrees = [0.05, 0.2, 1.0] + ([] if model == "sgc" else ["centrality"])
    other = np.where(np.arange(40) >= 22, np.arange(40) % 3, -1)
    replicas = [
        Replica(labels, degree, r, f, hidden)
        for r in range(2) for f, labels in enumerate((problem.labels, other)) for degree in degrees
    ]  # fmt: skip
    assert_gradients_equal(replicas, settings)


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_user_functions(problem, assert_gradients_equal, custom_degree, model, detach):
    settings = Settings(model=model, detach=detach, device="cpu")
    constant = lambda h, graph: torch.from_numpy(graph.degree).to(h) ** 0.5  # noqa: E731
    replicas = [Replica(problem.labels, f, 0, i, 16) for i, f in enumerate((custom_degree, constant))]
    assert_gradients_equal(replicas, settings)


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
def test_refuses_a_function_that_is_no_degree(problem, built, function):
    with pytest.raises(InvalidInputError, match="a degree function must return one positive number per node"):
        built([Replica(problem.labels, function)], Settings(device="cpu")).forward()


def test_degrees_of_a_batch_as_numbers(problem):
    replicas = [Replica(problem.labels, degree) for degree in (0.5, "centrality", 0.25)]
    sigma, uses = sigmas_and_uses(replicas, torch.device("cpu"))
    assert uses.tolist() == [1.0, 0.0, 1.0]
    assert sigma[[0, 2]].tolist() == [0.5, 0.25]
