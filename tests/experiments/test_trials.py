"""Plans unfold into the right trials, and packing loses none."""

from collections import Counter
from pathlib import Path

import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.tables.table1_gains import gains_trials
from grande_gnn.experiments.trials import SIGMAS, Plan, pack

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


def test_honest_sigma_costs_one_repetition():
    few, many = (
        [t for t in gains_trials(Plan(data=(SOURCE,), repeats=r)) if t.inner is not None] for r in (1, 5)
    )
    assert few == many


def test_uncut_features_have_no_inner_trials():
    plan = Plan(data=(SOURCE, CUB), repeats=1, uncut=frozenset({CUB.name}))
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
        {"models": ("gcn",)},
        {"lr": -1.0},
        {"normalize": "max"},
    ],
)
def test_impossible_plans_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="got"):
        Plan(data=(SOURCE,), **wrong)
