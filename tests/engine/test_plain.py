"""Any module through the engine's loop: the same seeds, replicas and outcomes, and no global state touched."""

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from grande_gnn import GrandeClassifier
from grande_gnn.degree import Grande
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.models import MODELS, PlainModel, register_model
from grande_gnn.engine.plain import DiffusionModule, build_module, module_logits
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph
from grande_gnn.propagation import propagate

QUICK = {"epochs": 5, "n_neighbors": 5, "device": "cpu", "random_state": 0}
CPU = Settings(device="cpu", epochs=30, lr=1e-2, seed=4)


class GCN(nn.Module):
    """Two graph convolutions with the given degree."""

    def __init__(self, n_features, n_classes, hidden=8, dropout=0.5):
        super().__init__()
        self.first, self.second = nn.Linear(n_features, hidden), nn.Linear(hidden, n_classes)
        self.norm, self.dropout = nn.BatchNorm1d(hidden), nn.Dropout(dropout)

    def forward(self, X, graph, degree):
        h = self.norm(propagate(self.first(X), degree(X, graph), graph)).relu()
        return propagate(self.second(self.dropout(h)), degree(h, graph), graph)


class Logistic(nn.Module):
    """A linear layer that never looks at the graph."""

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.linear = nn.Linear(n_features, n_classes)

    def forward(self, X, graph, degree):
        return self.linear(X)


def run(problem, replicas, settings, **options):
    return train(problem.X, problem.graph, replicas, problem.c, settings, keep_models=True, **options)


# -- the readable statement of the built-in models ----------------------------------------------------


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize(
    ("model", "hidden", "options"),
    [("sgc", None, {}), ("appnp", 16, {}), ("appnp", None, {"n_hops": 3, "alpha": 0.4, "dropout": 0.2})],
)
def test_the_built_in_models_by_autograd_equal_the_fast_passes(
    problem, custom_degree, model, hidden, options, detach
):
    fast = replace(CPU, model=model, detach=detach, **options)
    plain = replace(fast, model=partial(DiffusionModule, model=model))
    replicas = [
        Replica(problem.labels, degree, r, r + 1, hidden)
        for degree in ("centrality", 0.2, 0.05, custom_degree) for r in (0, 1)
    ]  # fmt: skip
    for ours, theirs in zip(run(problem, replicas, plain), run(problem, replicas, fast), strict=True):
        np.testing.assert_allclose(ours.logits, theirs.logits, atol=2e-4)
        np.testing.assert_allclose(ours.degree, theirs.degree, rtol=1e-3)
        assert ours.parameters.keys() == theirs.parameters.keys()
        for name, value in theirs.parameters.items():
            np.testing.assert_allclose(ours.parameters[name], value, atol=2e-4)


# -- any module ---------------------------------------------------------------------------------------


def by_hand(problem, module, degree, epochs=30):
    """The training of a module without dropout, as a user would write it."""
    X, labels = torch.from_numpy(problem.X), torch.from_numpy(problem.labels)
    known = labels >= 0
    optimizer = torch.optim.Adam(module.parameters(), lr=CPU.lr, weight_decay=CPU.weight_decay)
    module.train()
    for _ in range(epochs):
        optimizer.zero_grad()
        logits = module(X, problem.graph, degree)
        nn.functional.cross_entropy(logits[known], labels[known]).backward()
        optimizer.step()
    module.eval()
    with torch.no_grad():
        return module(X, problem.graph, degree).numpy()


def test_a_module_trains_as_by_hand(problem):
    settings = replace(CPU, model=GCN, dropout=0.0)
    replica = Replica(problem.labels, 0.2, hidden=8)
    (outcome,) = run(problem, [replica], settings)
    expected = by_hand(problem, build_module(7, 3, replica, settings), Grande(0.2))
    np.testing.assert_allclose(outcome.logits, expected, atol=1e-4)
    np.testing.assert_array_equal(outcome.predictions, outcome.logits.argmax(1))


def test_the_outcome_has_logits_degree_and_the_state_dict(problem):
    settings = replace(CPU, model=GCN)
    (outcome,) = run(problem, [Replica(problem.labels, 0.2, hidden=8)], settings)
    assert outcome.head_output is None
    module = GCN(7, 3, 8)
    module.load_state_dict({k: torch.from_numpy(v) for k, v in outcome.parameters.items()})
    asked = []

    def degree(h, graph):
        asked.append(Grande(0.2)(h, graph))
        return asked[-1]

    with torch.no_grad():
        logits = module.eval()(torch.from_numpy(problem.X), problem.graph, degree)
    np.testing.assert_allclose(outcome.logits, logits, atol=1e-6)
    np.testing.assert_allclose(outcome.degree, asked[-1], rtol=1e-6)  # the last that the module asked for
    shapes = {name: value.shape for name, value in outcome.parameters.items()}
    assert settings.kind.parameter_shapes(7, 8, 3) == shapes
    (bare,) = train(problem.X, problem.graph, [Replica(problem.labels, hidden=8)], 3, settings)
    assert bare.logits is bare.parameters is None


def test_a_module_that_never_asks_for_a_degree_has_degree_centrality(problem):
    (outcome,) = run(problem, [Replica(problem.labels)], replace(CPU, model=Logistic))
    np.testing.assert_array_equal(outcome.degree, problem.graph.degree)


def test_detach_stops_the_gradient_of_the_degree(problem):
    class OnlyDegree(Logistic):
        def forward(self, X, graph, degree):
            h = self.linear(X)
            return h.detach() + self.linear.bias + degree(h, graph).log()[:, None] * X[:, :3]

    settings = replace(CPU, model=OnlyDegree, weight_decay=0.0)
    start, learned, detached = (
        run(problem, [Replica(problem.labels)], s)[0].parameters["linear.weight"]
        for s in (replace(settings, epochs=0), settings, replace(settings, detach=True))
    )
    assert np.abs(learned - start).max() > 1e-3
    assert np.abs(detached - start).max() == 0


# -- random numbers -----------------------------------------------------------------------------------


def test_weights_depend_on_seed_repetition_and_fold_and_dropout_on_seed_and_repetition(problem):
    settings = replace(CPU, model=GCN)

    def weights(r, f, settings):
        (outcome,) = run(problem, [Replica(problem.labels, 0.2, r, f, 8)], settings)
        return outcome.parameters["first.weight"]

    start = replace(settings, epochs=0)
    different = [weights(0, 0, start), weights(1, 0, start), weights(0, 1, start)]
    different.append(weights(0, 0, replace(start, seed=5)))
    for a in range(4):
        for b in range(a):
            assert not np.isclose(different[a], different[b]).any()
    np.testing.assert_array_equal(weights(1, 1, settings), weights(1, 1, settings))

    class Dropped(Logistic):
        """Begins at the same weights always, so that only dropout differs."""

        def __init__(self, n_features, n_classes):
            super().__init__(n_features, n_classes)
            nn.init.ones_(self.linear.weight)
            nn.init.zeros_(self.linear.bias)

        def forward(self, X, graph, degree):
            return self.linear(nn.functional.dropout(X, training=self.training))

    settings = replace(CPU, model=Dropped, epochs=5)

    def ends(r, f, seed=4):
        (outcome,) = run(problem, [Replica(problem.labels, 0.2, r, f)], replace(settings, seed=seed))
        return outcome.parameters["linear.weight"]

    np.testing.assert_array_equal(ends(0, 0), ends(0, 3))
    assert not np.allclose(ends(0, 0), ends(1, 0))
    assert not np.allclose(ends(0, 0), ends(0, 0, seed=5))


def test_a_training_alone_is_the_same_training_among_others_and_touches_no_global_state(problem):
    settings = replace(CPU, model=GCN)
    replicas = [Replica(problem.labels, d, r, f, 8) for d in ("centrality", 0.2) for r, f in [(1, 0), (0, 1)]]
    before = torch.get_rng_state()
    together = run(problem, replicas, settings)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(1)  # must not matter
    for replica, outcome in zip(replicas, together, strict=True):
        (alone,) = run(problem, [replica], settings)
        np.testing.assert_array_equal(alone.logits, outcome.logits)


def test_every_epoch_has_its_own_dropout(problem):
    seen = []

    class Watched(Logistic):
        def forward(self, X, graph, degree):
            kept = nn.functional.dropout(torch.ones_like(X), training=self.training)
            seen.append(kept)
            return self.linear(X * kept)

    run(problem, [Replica(problem.labels)], replace(CPU, model=Watched, epochs=3))
    assert len(seen) == 4  # and one evaluation
    assert (seen[3] == 1).all()
    for a, b in [(0, 1), (1, 2), (0, 2)]:
        assert (seen[a] == seen[b]).float().mean().item() == pytest.approx(0.5, abs=0.15)


# -- how a module is given ----------------------------------------------------------------------------


def test_a_class_a_function_a_partial_and_a_module_are_all_models(problem):
    replica = Replica(problem.labels, 0.2, hidden=8)
    settings = replace(CPU, model=GCN, dropout=0.0, epochs=10)
    (expected,) = run(problem, [replica], settings)
    given = [lambda d, c: GCN(d, c, 8, 0.0), partial(GCN, hidden=8, dropout=0.0), GCN(7, 3, 8, 0.0)]
    for model in given:
        (outcome,) = run(problem, [replica], replace(settings, model=model, dropout=0.9))
        np.testing.assert_allclose(outcome.logits, expected.logits, atol=1e-6)


def test_a_given_module_is_copied_and_reset(problem):
    module = GCN(7, 3, 8)
    before = copy.deepcopy(module.state_dict())
    settings = replace(CPU, model=module, epochs=0)
    first, second = (run(problem, [Replica(problem.labels, fold=f)], settings)[0].parameters for f in (0, 1))
    for name, value in before.items():
        assert torch.equal(value, module.state_dict()[name])
    assert not np.isclose(first["first.weight"], second["first.weight"]).any()


def test_settings_reach_a_module_that_asks_for_them(problem):
    got = []

    class Asking(Logistic):
        def __init__(
            self, n_features, n_classes, *, n_hops=3, alpha=None, dropout=None, hidden=5, settings=None
        ):
            super().__init__(n_features, n_classes)
            got.append((n_features, n_classes, n_hops, alpha, dropout, hidden, settings is not None))

    replica = Replica(problem.labels, hidden=None)
    run(problem, [replica], replace(CPU, model=Asking, alpha=0.3, dropout=0.1, epochs=1))
    run(problem, [replace(replica, hidden=9)], replace(CPU, model=Asking, n_hops=7, epochs=1))
    assert got == [(7, 3, 3, 0.3, 0.1, 5, True), (7, 3, 7, 0.1, 0.5, 9, True)]


def test_a_registered_module_has_a_name(problem, monkeypatch):
    monkeypatch.setattr("grande_gnn.engine.models.MODELS", dict(MODELS))
    register_model(PlainModel("gcn", GCN, "GCN"))
    settings = replace(CPU, model="gcn")
    assert settings.kind.title == "GCN"
    (named,) = run(problem, [Replica(problem.labels, hidden=8)], settings)
    (given,) = run(problem, [Replica(problem.labels, hidden=8)], replace(CPU, model=GCN))
    np.testing.assert_array_equal(named.logits, given.logits)


def test_progress_counts_epochs(problem):
    seen = []
    run(problem, [Replica(problem.labels, hidden=8)] * 3, replace(CPU, model=GCN), progress=seen.append)
    assert sum(seen) == 90


# -- other graphs -------------------------------------------------------------------------------------


def test_logits_on_the_graph_of_the_training_and_on_a_larger_one(problem):
    settings, degree = replace(CPU, model=GCN), Grande(0.2)
    (outcome,) = run(problem, [Replica(problem.labels, degree, hidden=8)], settings)
    again = module_logits(problem.X, problem.graph, degree, outcome.parameters, 3, settings, 8)
    np.testing.assert_allclose(again, outcome.logits, atol=1e-6)
    rows, cols = np.append(problem.graph.rows, [40, 40]), np.append(problem.graph.indices, [3, 6])
    grown = Graph.from_edges(rows, cols, 41)
    X = np.vstack([problem.X, problem.X[3]])
    more = module_logits(X, grown, degree, outcome.parameters, 3, settings, 8)
    assert more.shape == (41, 3)
    assert more[40].argmax() == outcome.predictions[3]


def test_parameters_of_another_model_are_refused(problem):
    settings = replace(CPU, model=GCN)
    (outcome,) = run(problem, [Replica(problem.labels, hidden=8)], settings)
    for parameters, hidden in [(outcome.parameters, 9), ({"weight": np.ones(3)}, 8)]:
        with pytest.raises(InvalidInputError, match="the parameters do not fit the model 'GCN'; got"):
            module_logits(problem.X, problem.graph, Grande(), parameters, 3, settings, hidden)


# -- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forward", "got"),
    [
        (lambda self, X, graph, degree: X, r"shape \(40, 7\)"),
        (lambda self, X, graph, degree: self.linear(X).sum(), r"shape \(\)"),
        (lambda self, X, graph, degree: None, "NoneType"),
    ],
)
def test_refuses_what_are_no_logits(problem, forward, got):
    model = type("Wrong", (Logistic,), {"forward": forward})
    with pytest.raises(InvalidInputError, match=rf"logits of shape \(40, 3\); got {got}"):
        run(problem, [Replica(problem.labels)], replace(CPU, model=model))


def test_refuses_a_model_without_parameters_and_what_is_no_module(problem):
    class Nothing(nn.Module):
        def __init__(self, n_features, n_classes):
            super().__init__()

    with pytest.raises(
        InvalidInputError, match=r"at least one parameter to train.*; got Nothing without any"
    ):
        run(problem, [Replica(problem.labels)], replace(CPU, model=Nothing))
    with pytest.raises(
        InvalidInputError, match=r"must be a torch.nn.Module.*; got a function that returned int"
    ):
        run(problem, [Replica(problem.labels)], replace(CPU, model=lambda n_features, n_classes: 3))
    with pytest.raises(InvalidInputError, match="only a PlainModel is trained by autograd; got 'sgc'"):
        build_module(7, 3, Replica(problem.labels), Settings(model="sgc"))


def test_a_parameter_that_is_not_used_is_no_obstacle(problem):
    class Spare(Logistic):
        def __init__(self, n_features, n_classes):
            super().__init__(n_features, n_classes)
            self.spare = nn.Parameter(torch.ones(3))
            self.fixed = nn.Parameter(torch.ones(3), requires_grad=False)

    (outcome,) = run(problem, [Replica(problem.labels)], replace(CPU, model=Spare, weight_decay=0.0))
    np.testing.assert_array_equal(outcome.parameters["spare"], 1)
    np.testing.assert_array_equal(outcome.parameters["fixed"], 1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_module_on_the_gpu_agrees_with_the_cpu(problem):
    settings = replace(CPU, model=GCN, dropout=0.0, precision="highest")
    replicas = [Replica(problem.labels, degree, hidden=8) for degree in (0.2, "centrality")]
    before = torch.cuda.get_rng_state()
    there = run(problem, replicas, replace(settings, device="cuda"))
    assert torch.equal(before, torch.cuda.get_rng_state())
    for cpu, gpu in zip(run(problem, replicas, settings), there, strict=True):
        assert np.abs(cpu.logits - gpu.logits).max() < 1e-2 * np.abs(cpu.logits).max()


# -- weight decay ---------------------------------------------------------------------------------------


class Unused(nn.Module):
    """Two parameters that no output depends on, so that only weight decay moves them."""

    undecayed = ("kept",)

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.linear = nn.Linear(n_features, n_classes)
        self.kept, self.decayed = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))

    def forward(self, X, graph, degree):
        return self.linear(X)


def test_a_module_says_which_parameters_take_no_weight_decay(problem):
    settings = replace(CPU, weight_decay=0.1, epochs=20)
    (outcome,) = run(problem, [Replica(problem.labels)], replace(settings, model=Unused))
    assert (outcome.parameters["kept"] == 1).all()
    assert (outcome.parameters["decayed"] < 0.9).all()


@pytest.mark.parametrize(
    "delta", [lambda h, g: 1.0, lambda h, g: -torch.ones(len(h)), lambda h, g: torch.ones(len(h), 1)]
)
def test_a_degree_of_ones_own_is_checked(blobs, few, delta):
    clf = GrandeClassifier("gcn", delta, epochs=2, n_neighbors=5, device="cpu")
    with pytest.raises(InvalidInputError, match="a degree function must return one positive number per node"):
        clf.fit(blobs[0], few)


def test_a_degree_of_integers_is_a_degree(blobs, few):
    counted = GrandeClassifier("gcn", lambda h, g: torch.as_tensor(g.degree), **QUICK).fit(blobs[0], few)
    exact = GrandeClassifier("gcn", "centrality", **QUICK).fit(blobs[0], few)
    np.testing.assert_allclose(counted.label_distributions_, exact.label_distributions_, atol=1e-6)
