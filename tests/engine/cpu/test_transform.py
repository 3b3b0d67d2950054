"""Heads of many replicas side by side equal each head on its own, forward and backward."""

import numpy as np
import pytest
import torch

from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.cpu.transform import build_head, relu_backward_, relu_dropout_
from grande_gnn.engine.dropout import MaskStream

REPLICAS = [(0, 0), (0, 1), (0, 1), (1, 0), (3, 2)]  # (repetition, fold), repetitions together


@pytest.fixture(params=[16, 1], ids=lambda n: f"run={n}", autouse=True)
def runs(request, monkeypatch):
    """Replicas of one repetition in one product, or each on its own."""
    monkeypatch.setattr("grande_gnn.engine.cpu.transform.LONGEST_RUN", request.param)


def build(problem, hidden, settings, keys=REPLICAS):
    replicas = [Replica(problem.labels, 0.2, r, f, hidden) for r, f in keys]
    return build_head(torch.from_numpy(problem.X), replicas, problem.c, settings), replicas


@pytest.mark.parametrize("hidden", [None, 16])
def test_initial_weights_follow_the_law_of_a_linear_layer(problem, hidden):
    X = np.zeros((3, 400), dtype=np.float32)
    big = type(problem)(X=X, labels=np.zeros(3, dtype=int), c=100)
    head, _ = build(big, hidden, Settings())
    for name, values in head.of_replica(0).items():
        bound = 1 / np.sqrt(hidden if name.endswith("2") else 400)
        assert np.abs(values).max() <= bound
        if values.size > 1000:
            assert values.mean() == pytest.approx(0, abs=bound / 20)
            assert values.std() == pytest.approx(bound / np.sqrt(3), rel=0.05)


@pytest.mark.parametrize("hidden", [None, 16])
def test_weights_depend_on_repetition_and_fold_only(problem, hidden):
    head, _ = build(problem, hidden, Settings())
    weights = [np.concatenate([a.ravel() for a in head.of_replica(r).values()]) for r in range(5)]
    np.testing.assert_array_equal(weights[1], weights[2])  # one repetition and fold: common random numbers
    for a, b in [(0, 1), (0, 3), (0, 4), (3, 4)]:
        assert not np.isclose(weights[a], weights[b]).any()
    other, _ = build(problem, hidden, Settings(seed=1))
    assert not np.isclose(weights[0], np.concatenate([a.ravel() for a in other.of_replica(0).values()])).any()


@pytest.mark.parametrize("private", [True, False], ids=["torch's", "public"])
@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
@pytest.mark.parametrize("hidden", [None, 16])
def test_passes_equal_autograd(problem, plain, hidden, dropout, private, monkeypatch):
    if not private:  # as in a torch without the private function
        monkeypatch.setattr("grande_gnn.engine.cpu.transform.threshold_backward", None)
    settings = Settings(dropout=dropout, device="cpu", seed=3)
    head, replicas = build(problem, hidden, settings)
    gradient = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 40, 3)).astype(np.float32))
    got = head.forward(training=True).clone()  # the next pass writes over it
    head.backward(gradient)
    grads = {name: [p.grad for p in group] for name, group in head.parameters.items()}
    clean = head.forward(training=False)
    head.parameters = grads  # so that of_replica selects gradients as it selects parameters
    for r, replica in enumerate(replicas):
        one = plain.start(problem.X, problem.graph, replica, problem.c, settings)
        H = one.head(training=True)
        np.testing.assert_allclose(got[r], H.detach(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(clean[r], one.head(training=False).detach(), rtol=1e-4, atol=1e-5)
        expected = torch.autograd.grad(H, list(one.parameters.values()), gradient[r].double())
        for name, value in zip(one.parameters, expected, strict=True):
            np.testing.assert_allclose(head.of_replica(r)[name], value, rtol=1e-3, atol=1e-4)


def test_the_gradient_of_the_relu_without_private_functions_is_bitwise_the_same(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    output, gradient = torch.randn(50, 7, generator=generator).relu(), torch.randn(50, 7, generator=generator)
    ours, theirs = gradient.clone(), gradient.clone()
    relu_backward_(theirs, output)
    monkeypatch.setattr("grande_gnn.engine.cpu.transform.threshold_backward", None)
    relu_backward_(ours, output)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ours, gradient * (output > 0))


def test_sgc_has_no_hidden_layer(problem):
    head, _ = build(problem, 16, Settings(model="sgc"))
    assert set(head.of_replica(0)) == {"weight", "bias"}


@pytest.mark.parametrize("p", [0.5, 0.3])
@pytest.mark.parametrize("n", [40, 30_000])  # one block, and several
def test_relu_and_dropout_in_one_pass_are_bitwise_those_of_torch(n, p):
    hidden = torch.randn(n, 3, 50, generator=torch.Generator().manual_seed(0))
    mask = MaskStream((n, 50), p, (0, 0, 1)).next()
    expected = hidden.relu() * mask.mul(1 / (1 - p)).unsqueeze(1)
    relu_dropout_(hidden, MaskStream((n, 50), p, (0, 0, 1)).draw(1 / (1 - p)))
    assert torch.equal(hidden, expected)


def test_plain_torch_on_another_device_drops_the_same_units(problem, monkeypatch):
    """CUDA without Triton multiplies by the whole mask; here the CPU does both."""
    settings = Settings(dropout=0.3, device="cpu")
    blocks = build(problem, 16, settings)[0].forward(training=True).clone()
    whole, _ = build(problem, 16, settings)
    monkeypatch.setattr("grande_gnn.engine.cpu.transform.relu_dropout_", None)
    monkeypatch.setattr(whole, "_is_on_cpu", False)
    assert torch.equal(whole.forward(training=True), blocks)
