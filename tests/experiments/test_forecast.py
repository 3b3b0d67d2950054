"""The forecast of a run: costs per kind of trial, running batches, workers, kinds not seen yet."""

import time
from collections import Counter

import pytest

from grande_gnn.experiments.forecast import Forecast
from grande_gnn.experiments.tables.table1_gains import gains_trials
from grande_gnn.experiments.trials import Batch


def test_the_forecast_has_a_cost_for_each_kind(plan):
    trials = list(gains_trials(plan))
    kinds = Counter(trial.kind for trial in trials)
    cost = {kind: 1.0 + i for i, kind in enumerate(kinds)}
    forecast = Forecast(kinds, cost, start=time.perf_counter() - sum(cost.values()))
    assert forecast.expected() is None
    for kind in kinds:
        batch = Batch((next(trial for trial in trials if trial.kind == kind),))
        forecast.add(batch, 1, cost[kind])
    truth = sum(kinds[kind] * cost[kind] for kind in kinds)
    assert forecast.expected() == pytest.approx(truth, rel=0.01)


def test_the_forecast_looks_into_a_running_batch(plan):
    """Setting up takes 4 s and a trial 2 s: a batch of three takes 10 s, and there are four such batches."""
    trials = [trial for trial in gains_trials(plan) if trial.kind == next(gains_trials(plan)).kind][:12]
    kind = trials[0].kind
    forecast = Forecast(Counter({kind: 12}), {kind: 1.0}, start=time.perf_counter() - 100.0)
    batch = Batch(tuple(trials[:3]))
    forecast.add(batch, 0.0, 4.0)
    assert forecast.expected() is None
    forecast.add(batch, 0.5, 1.0)
    assert forecast.expected() == pytest.approx(40.0)
    forecast.add(batch, 2.5, 5.0)
    assert forecast.expected() == pytest.approx(40.0)
    assert forecast.done == 3


def test_the_forecast_divides_by_the_workers(plan):
    trials = [trial for trial in gains_trials(plan) if trial.kind == next(gains_trials(plan)).kind][:4]
    kind = trials[0].kind
    forecast = Forecast(Counter({kind: 4}), {kind: 1.0}, start=time.perf_counter() - 10.0)
    for trial in trials[:2]:
        forecast.add(Batch((trial,)), 1, 10.0)
    assert forecast.expected() == pytest.approx(20.0, rel=0.01)


def test_the_forecast_estimates_unseen_kinds_by_weight(plan):
    trials = list(gains_trials(plan))
    kinds = Counter(trial.kind for trial in trials)
    weight = {kind: 10.0 * (i + 1) for i, kind in enumerate(kinds)}
    seen = trials[0]
    forecast = Forecast(kinds, weight, start=time.perf_counter() - 5.0)
    forecast.add(Batch((seen,)), 1, 5.0)
    truth = sum(kinds[kind] * weight[kind] for kind in kinds) * 5.0 / weight[seen.kind]
    assert forecast.expected() == pytest.approx(truth, rel=0.01)
