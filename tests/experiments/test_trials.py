"""Plans unfold into the right trials, and packing loses none."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from grande_gnn.degree import Centrality, Custom, Grande
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.tables.table1_gains import gains_trials
from grande_gnn.experiments.trials import SIGMAS, Plan, Trial, pack, paper_degree

SOURCE = FeatureSet("flowers17", "lite0", Path("nowhere"))
CUB = FeatureSet("cub200", "resnet152", Path("nowhere"))


def test_table_1_has_the_papers_trials():
    trials = list(gains_trials(Plan(data=(SOURCE,), repeats=5)))
    outer = [trial for trial in trials if trial.inner is None]
    assert len(set(trials)) == len(trials)
    assert len(outer) == 2 * 11 * 10 * 5
    assert len(trials) - len(outer) == 2 * 10 * 10 * 3
    assert {trial.sigma for trial in outer} == {None, *SIGMAS}
    assert {trial.lr for trial in trials} == {1e-3}
    assert {trial.hidden for trial in trials if trial.model == "sgc"} == {None}


def test_the_nested_sigma_costs_one_repetition():
    few, many = (
        [t for t in gains_trials(Plan(data=(SOURCE,), repeats=r)) if t.inner is not None] for r in (1, 5)
    )
    assert few == many


def test_features_that_cannot_be_split_have_no_inner_trials():
    plan = Plan(data=(SOURCE, CUB), repeats=1, cannot_split=frozenset({CUB.name}))
    assert {t.data for t in gains_trials(plan)} == {SOURCE.name, CUB.name}
    assert {t.data for t in gains_trials(plan) if t.inner is not None} == {SOURCE.name}


def test_the_learning_rate_of_cub200():
    plan = Plan(data=(CUB,), repeats=1)
    assert {trial.lr for trial in gains_trials(plan)} == {1e-2}
    assert {trial.lr for trial in gains_trials(Plan(data=(CUB,), lr=0.5))} == {0.5}


@pytest.mark.parametrize("size", [1, 3, 11, 10_000])
def test_packing_keeps_every_trial_once_and_kinds_apart(size):
    trials = list(gains_trials(Plan(data=(SOURCE, CUB), repeats=1, folds=2)))
    weight = {trial.kind: float(len(trial.features)) for trial in trials}
    batches = pack(trials, lambda trial: size, weight)
    assert Counter(trial for batch in batches for trial in batch.trials) == Counter(trials)
    assert all(len({trial.kind for trial in batch.trials}) == 1 for batch in batches)
    assert max(len(batch.trials) for batch in batches) <= size
    kinds = [batch.kind for batch in batches]
    first_turn = kinds[: len(set(kinds))]
    assert len(set(first_turn)) == len(first_turn)
    assert [weight[kind] for kind in first_turn] == sorted(weight.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"folds": 1},
        {"repeats": 0},
        {"inner_folds": 1},
        {"sigmas": (0.0,)},
        {"models": ("gin",)},
        {"lr": -1.0},
        {"normalize": "max"},
        {"graph": "full"},
    ],
)
def test_impossible_plans_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="got"):
        Plan(data=(SOURCE,), **wrong)


def test_a_trial_names_its_degree_by_sigma_or_by_name():
    trial = Trial("own", "x", "grande", folds=2, fold=0, repetition=0, seed=0, model="sgc")
    assert trial.degree_object == paper_degree(None) == Centrality()
    assert replace(trial, sigma=0.4).degree_object == paper_degree(0.4) == Grande(0.4)
    assert replace(trial, sigma=0.4, degree="centrality").degree_object == Centrality()
    assert replace(trial, degree=Custom(len)).degree_object == Custom(len)


def test_a_model_without_a_hidden_layer_is_trained_once_for_all_widths():
    plan = Plan(data=(SOURCE,), repeats=1, folds=2, widths=(64, 128))
    assert [t.hidden for t in plan.engine_trials(SOURCE, "sgc", [None])] == [None, None]
    assert [t.hidden for t in plan.engine_trials(SOURCE, "appnp", [None])] == [64, 128] * 2


@pytest.mark.parametrize(
    ("name", "graph", "sigma"),
    [("grande", "knn", 0.7), ("d-grande", "dgcg-self", 0.7), ("dgcg", "dgcg", None), ("mgcn", "mgcn", None)],
)
def test_a_graph_system_has_its_own_graph_and_degree(name, graph, sigma):
    """All but GRaNDe itself, which is on the graph that the plan is about."""
    plan = Plan(data=(SOURCE,), repeats=1, folds=2, graph="knn", sigma=0.7)
    (trial, _) = plan.system_trials(SOURCE, name, model="sgc")
    assert (trial.system, trial.graph, trial.sigma, trial.degree) == (name, graph, sigma, None)


def test_another_degree_of_a_graph_system_is_named_in_its_trials(monkeypatch):
    from grande_gnn.baselines import SYSTEMS
    from grande_gnn.engine.degrees import DEGREES

    monkeypatch.setitem(DEGREES, "hub", lambda sigma: Custom(len))
    monkeypatch.setitem(
        SYSTEMS, "hubs", replace(SYSTEMS["dgcg"], name="hubs", options={"graph": "knn", "degree": "hub"})
    )
    (trial, _) = Plan(data=(SOURCE,), repeats=1, folds=2).system_trials(SOURCE, "hubs", model="sgc")
    assert (trial.graph, trial.degree, trial.sigma) == ("knn", "hub", None)
    assert trial.degree_object == Custom(len)


def test_only_trials_that_differ_in_labels_degree_or_repetition_are_trained_together():
    plan = Plan(data=(SOURCE,), repeats=2, folds=2, models=("sgc",))
    first, *others = gains_trials(plan)
    assert {trial.trained_with for trial in others} == {first.trained_with}
    for change in (
        {"seed": 1},
        {"lr": 0.5},
        {"epochs": 3},
        {"graph": "knn"},
        {"hidden": 4},
        {"options": (("alpha", 0.2),)},
    ):
        assert replace(first, **change).trained_with != first.trained_with
    repeated = {trial.trained_with for trial in plan.system_trials(SOURCE, "ml-perc")}
    assert len(repeated) == 2  # a seed for each repetition
