"""Whole trainings: equal to a plain autograd loop, alone or in any batch, again and again."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch

from grande_gnn.degree import Centrality, Custom, Degree, Grande, degree_centrality
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.cpu.backend import Backend
from grande_gnn.engine.memory import Sizes, predicted_bytes
from grande_gnn.errors import InvalidInputError, NotEnoughMemoryError
from grande_gnn.graph import Graph

CPU = Settings(device="cpu", epochs=30, lr=1e-2, seed=4)


def run(problem, replicas, settings=CPU, **options):
    return train(problem.X, problem.graph, replicas, problem.c, settings, keep_models=True, **options)


def mixture(problem, custom_degree, hidden=16):
    """Degrees, folds and repetitions in no particular order, built-in and not."""
    other = np.where(np.arange(40) >= 22, np.arange(40) % 3, -1)
    degrees = ["centrality", 0.2, custom_degree, 0.05, 1.0]
    return [
        Replica((problem.labels, other)[f], degree, r, f, hidden)
        for degree in degrees for f in (1, 0) for r in (1, 0)
    ]  # fmt: skip


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize(("model", "hidden"), [("sgc", None), ("appnp", 16), ("appnp", None)])
def test_equals_a_plain_training_loop(problem, plain, custom_degree, model, hidden, detach):
    # Every degree in one call; SGC with degree centrality is the engine's shortcut over diffused features.
    settings = replace(CPU, model=model, detach=detach)
    replicas = mixture(problem, custom_degree, hidden)[::3]
    assert {type(r.degree) for r in replicas} == {Centrality, Grande, Custom}
    for replica, outcome in zip(replicas, run(problem, replicas, settings), strict=True):
        one = plain.start(problem.X, problem.graph, replica, problem.c, settings)
        expected = one.fit()
        np.testing.assert_allclose(outcome.logits, expected, atol=1e-4)
        np.testing.assert_array_equal(outcome.predictions, outcome.logits.argmax(1))
        for name, value in one.parameters.items():
            np.testing.assert_allclose(outcome.parameters[name], value.detach(), atol=1e-4)


@pytest.mark.parametrize("options", [{"dropout": 0.3}, {"n_hops": 0}, {"alpha": 1.0}, {"weight_decay": 0.1}])
def test_every_setting_reaches_the_training(problem, plain, options):
    settings, replica = replace(CPU, **options), Replica(problem.labels, 0.2, hidden=16)
    expected = plain.start(problem.X, problem.graph, replica, problem.c, settings).fit()
    (outcome,) = run(problem, [replica], settings)
    np.testing.assert_allclose(outcome.logits, expected, atol=1e-4)
    assert np.abs(outcome.logits - run(problem, [replica])[0].logits).max() > 1e-2


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("degree", ["centrality", 0.2])
def test_weighted_labels_equal_a_plain_weighted_training(problem, plain, model, degree):
    # One batch with and without weights, and SGC's shortcut, in which replicas with equal labels share their inputs.
    weights = np.random.default_rng(2).uniform(0.05, 4, 40)
    settings = replace(CPU, model=model)
    replicas = [Replica(problem.labels, degree, hidden=16, label_weights=w) for w in (None, weights)]
    outcomes = run(problem, replicas, settings)
    for replica, outcome in zip(replicas, outcomes, strict=True):
        expected = plain.start(problem.X, problem.graph, replica, problem.c, settings).fit()
        np.testing.assert_allclose(outcome.logits, expected, atol=1e-4)
    assert np.abs(outcomes[0].logits - outcomes[1].logits).max() > 1e-2
    scaled = replace(replicas[1], label_weights=10 * weights)
    np.testing.assert_allclose(run(problem, [scaled], settings)[0].logits, outcomes[1].logits, atol=1e-4)


def test_the_outcome_carries_head_output_and_degree(problem, custom_degree):
    (outcome,) = run(problem, [Replica(problem.labels, custom_degree, hidden=16)])
    p = outcome.parameters
    H = np.maximum(problem.X @ p["weight1"] + p["bias1"], 0) @ p["weight2"] + p["bias2"]
    np.testing.assert_allclose(outcome.head_output, H, atol=1e-5)
    np.testing.assert_allclose(outcome.degree, custom_degree(torch.from_numpy(H), problem.graph), rtol=1e-4)
    (bare,) = train(problem.X, problem.graph, [Replica(problem.labels, hidden=16)], problem.c, CPU)
    assert bare.logits is None
    assert bare.predictions.shape == (40,)


class Power(Degree):
    """|N|ᵖ, of the graph alone."""

    depends_on_output = False

    def __init__(self, power):
        self.power = power

    def __call__(self, h, graph):
        return degree_centrality(graph, like=h) ** self.power


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_a_degree_of_ones_own_that_looks_at_the_graph_alone(problem, plain, model):
    settings = replace(CPU, model=model)
    degrees = [Power(1.5), Centrality(), Power(1.1)]
    replicas = [Replica(problem.labels, degree, hidden=16) for degree in degrees]
    for replica, outcome in zip(replicas, run(problem, replicas, settings), strict=True):
        expected = plain.start(problem.X, problem.graph, replica, problem.c, settings).fit()
        np.testing.assert_allclose(outcome.logits, expected, atol=1e-4)
        delta = replica.degree(torch.from_numpy(problem.X), problem.graph)
        np.testing.assert_allclose(outcome.degree, delta, rtol=1e-6)


# -- batches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_one_training_alone_is_the_same_training_in_a_batch(problem, custom_degree, model):
    settings = replace(CPU, model=model)
    replicas = mixture(problem, custom_degree)
    together = run(problem, replicas, settings)
    for replica, outcome in zip(replicas, together, strict=True):
        (alone,) = run(problem, [replica], settings)
        np.testing.assert_allclose(outcome.logits, alone.logits, atol=1e-5)
        np.testing.assert_array_equal(outcome.predictions, alone.predictions)


@pytest.mark.parametrize("share", [1, 3, 6])
def test_memory_cuts_the_batch_and_not_the_result(problem, custom_degree, share, caplog):
    replicas = mixture(problem, custom_degree)
    sizes = Sizes(40, 7, 3, 16, problem.graph.n_edges, 10, share, min(share, 2))
    limit = predicted_bytes(sizes, "cpu")
    with caplog.at_level("INFO"):
        cut = run(problem, replicas, replace(CPU, memory_limit=limit))
    assert f"training 16 replicas on cpu, {share} at a time" in caplog.text
    for a, b in zip(cut, run(problem, replicas), strict=True):
        np.testing.assert_allclose(a.logits, b.logits, atol=1e-5)


def test_different_widths_in_one_call(problem, plain):
    replicas = [Replica(problem.labels, 0.2, hidden=h) for h in (8, None, 16, 8)]
    outcomes = run(problem, replicas)
    for replica, outcome in zip(replicas, outcomes, strict=True):
        expected = plain.start(problem.X, problem.graph, replica, problem.c, CPU).fit()
        np.testing.assert_allclose(outcome.logits, expected, atol=1e-4)
    np.testing.assert_array_equal(outcomes[0].logits, outcomes[3].logits)


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_nothing_of_a_batch_is_alive_when_the_next_is_built(problem, custom_degree, model, monkeypatch):
    built, build = [], Backend.build

    def watched(*arguments):
        assert all(earlier() is None for earlier in built)
        result = build(*arguments)
        built.append(weakref.ref(result))
        return result

    monkeypatch.setattr(Backend, "build", watched)
    monkeypatch.setattr("grande_gnn.engine.training.replicas_that_fit", lambda *_: 2)
    gc.disable()  # memory must come back at once, not when the collector of cycles happens to run
    try:
        run(problem, mixture(problem, custom_degree), replace(CPU, model=model, epochs=2))
    finally:
        gc.enable()
    assert len(built) >= 10


def test_too_little_memory_is_an_error(problem):
    with pytest.raises(NotEnoughMemoryError, match=r"needs about .*GiB.*memory_limit; got"):
        run(problem, [Replica(problem.labels)], replace(CPU, memory_limit=1000))


# -- random numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("degree", ["centrality", 0.2])
def test_one_seed_gives_identical_runs(problem, model, degree):
    settings, replicas = replace(CPU, model=model), [Replica(problem.labels, degree, hidden=16)]
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  # global seeds must not matter
    (first,) = run(problem, replicas, settings)
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = torch.get_rng_state()
    (second,) = run(problem, replicas, settings)
    np.testing.assert_array_equal(first.logits, second.logits)
    assert torch.equal(before, torch.get_rng_state())
    (other,) = run(problem, replicas, replace(settings, seed=5))
    assert np.abs(first.logits - other.logits).max() > 1e-3


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_initial_weights_differ_by_repetition_and_fold_and_by_nothing_else(problem, custom_degree, model):
    start = replace(CPU, model=model, epochs=0)

    def weights(degree, r, f):
        (outcome,) = run(problem, [Replica(problem.labels, degree, r, f, 16)], start)
        return np.concatenate([p.ravel() for p in outcome.parameters.values()])

    for degree in ("centrality", 0.2, 1.0, custom_degree):  # compared on common random numbers
        np.testing.assert_array_equal(weights(degree, 1, 2), weights(0.2, 1, 2))
    different = [weights("centrality", r, f) for r, f in [(0, 0), (0, 1), (1, 0), (1, 1)]]
    for a in range(4):
        for b in range(a):
            assert not np.isclose(different[a], different[b]).any()


def test_degrees_share_their_dropout_masks(problem):
    # With σ → ∞ the degree is |N| + 1: a function that returns it must train to the same weights.
    count = lambda h, graph: h.new_tensor(graph.degree) + 1  # noqa: E731
    replicas = [Replica(problem.labels, degree, 1, 2, 16) for degree in (1e9, count)]
    grande, function = run(problem, replicas)
    np.testing.assert_allclose(grande.logits, function.logits, atol=1e-5)


def test_progress_counts_epochs_of_all_replicas(problem, custom_degree):
    seen = []
    run(problem, mixture(problem, custom_degree), progress=seen.append)
    assert sum(seen) == 30 * 20


# -- hard cases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("degree", ["centrality", 0.2, 1e-3])
def test_every_tiny_graph_trains(tiny, model, degree):
    replica = Replica(tiny.labels, degree, hidden=16)
    (outcome,) = train(
        tiny.X, tiny.graph, [replica], tiny.n_classes, replace(CPU, model=model), keep_models=True
    )
    assert np.isfinite(outcome.logits).all()
    assert np.isfinite(outcome.degree).all()
    assert all(np.isfinite(p).all() for p in outcome.parameters.values())
    if tiny.n_classes == 1:
        assert (outcome.predictions == 0).all()


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("X", [np.zeros((8, 3)), np.full((8, 3), 1.7), np.eye(8) * 1e-20])
def test_equal_or_minute_features_stay_finite(connected, model, X):
    replicas = [Replica(connected.labels, s, hidden=16) for s in (1e-3, 0.2)]
    outcomes = train(X, connected.graph, replicas, 3, replace(CPU, model=model), keep_models=True)
    assert all(np.isfinite(o.logits).all() for o in outcomes)


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_a_tiny_sigma_stays_finite_over_a_whole_training(problem, model):
    replicas = [Replica(problem.labels, s, hidden=16) for s in (1e-3, 1e-6)]
    for outcome in run(problem, replicas, replace(CPU, model=model, epochs=100)):
        assert np.isfinite(outcome.logits).all()


def test_permuting_nodes_permutes_the_answer(problem):
    order = np.random.default_rng(0).permutation(40)
    settings = replace(CPU, dropout=0.0)  # masks belong to rows, so only without them
    moved = Graph.from_scipy(problem.graph.to_scipy()[order][:, order])
    (there,) = run(problem, [Replica(problem.labels, 0.2, hidden=16)], settings)
    (back,) = train(
        problem.X[order],
        moved,
        [Replica(problem.labels[order], 0.2, hidden=16)],
        3,
        settings,
        keep_models=True,
    )
    np.testing.assert_allclose(back.logits, there.logits[order], atol=1e-4)


def test_a_class_with_one_label_or_none_is_no_obstacle(problem):
    rare = np.where(np.arange(40) == 5, 2, np.where(np.arange(40) < 18, np.arange(40) % 2, -1))
    (outcome,) = train(problem.X, problem.graph, [Replica(rare, 0.2, hidden=16)], 4, CPU, keep_models=True)
    assert outcome.logits.shape == (40, 4)
    assert np.isfinite(outcome.logits).all()


# -- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "n_classes", "words"),
    [
        (np.zeros(39, dtype=int), 3, r"one label code per sample \(40\); got shape \(39,\)"),
        (np.full(40, -1), 3, "at least one labelled sample; got none"),
        (np.full(40, 3), 3, "below n_classes=3; got 3"),
        (np.zeros(40, dtype=int), 0, "n_classes must be an integer of at least 1; got 0"),
    ],
)
def test_refuses_labels(problem, labels, n_classes, words):
    with pytest.raises(InvalidInputError, match=words):
        train(problem.X, problem.graph, [Replica(labels)], n_classes, CPU)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(39), r"one per sample \(40\); got shape \(39,\)"),
        (-np.ones(40), "not negative.*; got -1 to -1"),
        (np.zeros(40), "one of them above 0.*; got 0 to 0"),
        (np.full(40, np.nan), "finite"),
    ],
)
def test_refuses_label_weights(problem, weights, words):
    with pytest.raises(InvalidInputError, match=words):
        train(problem.X, problem.graph, [Replica(problem.labels, label_weights=weights)], 3, CPU)


def test_refuses_a_graph_of_other_samples(problem, connected):
    with pytest.raises(InvalidInputError, match="40 samples; got 8 nodes"):
        train(problem.X, connected.graph, [Replica(problem.labels)], 3, CPU)


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize(("degree", "scale", "lr"), [(0.2, 1e37, 1e-3), ("centrality", 1.0, 1e38)])
def test_a_training_that_overflows_is_an_error_and_not_an_answer(problem, model, degree, scale, lr):
    settings, replicas = replace(CPU, model=model, lr=lr), [Replica(problem.labels, degree)]
    with pytest.raises(InvalidInputError, match=r"training overflowed.*; got 1 of 1 trainings"):
        train(problem.X * scale, problem.graph, replicas, 3, settings)
