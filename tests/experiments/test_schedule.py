"""Plan → rows: skipping, resuming, failing, and the same rows whoever trains them."""

import os
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grande_gnn.engine import Settings
from grande_gnn.errors import GrandeError, InvalidInputError
from grande_gnn.experiments import measure as work_module
from grande_gnn.experiments.datasets import find_feature_sets, load_feature_set
from grande_gnn.experiments.folds import evaluate
from grande_gnn.experiments.measure import Material, work
from grande_gnn.experiments.rows import RowStore
from grande_gnn.experiments.runners.local import LocalRunner
from grande_gnn.experiments.schedule import Forecast, run
from grande_gnn.experiments.scores import collect
from grande_gnn.experiments.tables.table1_gains import gains_trials
from grande_gnn.experiments.trials import Batch, Plan


@pytest.fixture
def plan(data):
    return Plan(
        data=tuple(find_feature_sets(data)), sigmas=(0.1, 0.4), widths=(8,), folds=3, repeats=2, epochs=3,
        n_neighbors=5, inner_folds=2,
    )  # fmt: skip


@pytest.fixture
def sets(plan):
    return {source: load_feature_set(source) for source in plan.data}


def measured(store):
    """What must not depend on how a run went."""
    return {(trial, row.fingerprint, row.n_test, row.accuracy) for trial, row in store.finished.items()}


def run_all(plan, sets, path, runner=None, **options):
    with RowStore(path) as store:
        run(plan, gains_trials(plan), sets, store, runner or LocalRunner(device="cpu"), **options)
    return store


class Interrupted(LocalRunner):
    """Stops like Ctrl-C after some batches."""

    def run(self, batches, materials, on_progress):
        for _, result in zip(range(3), super().run(batches, materials, on_progress), strict=False):
            yield result
        raise KeyboardInterrupt


def test_every_trial_becomes_a_row_and_a_rerun_trains_nothing(plan, sets, tmp_path, monkeypatch):
    store = run_all(plan, sets, tmp_path / "rows.jsonl")
    assert set(store.finished) == set(gains_trials(plan))
    monkeypatch.setattr(work_module, "train", None)
    assert measured(run_all(plan, sets, tmp_path / "rows.jsonl")) == measured(store)


def test_interrupted_and_resumed_rows_equal_an_uninterrupted_runs(plan, sets, tmp_path):
    whole = run_all(plan, sets, tmp_path / "whole.jsonl")
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run_all(plan, sets, tmp_path / "parts.jsonl", Interrupted(device="cpu"))
    parts = run_all(plan, sets, tmp_path / "parts.jsonl")
    assert measured(parts) == measured(whole)
    lines = Counter((tmp_path / "parts.jsonl").read_text().splitlines())
    assert len(lines) == len(parts.finished)


def test_processes_give_the_same_rows(plan, sets, tmp_path):
    here = run_all(plan, sets, tmp_path / "here.jsonl")
    there = run_all(plan, sets, tmp_path / "there.jsonl", LocalRunner(device="cpu", jobs=2))
    assert measured(here) == measured(there)


def test_rows_are_what_evaluate_measures(plan, sets, tmp_path):
    store = run_all(plan, sets, tmp_path / "rows.jsonl")
    source = plan.data[0]
    loaded = sets[source]
    result, = evaluate(
        loaded.X, loaded.codes, sigma=0.4, hidden=8, folds=3, repeats=2, epochs=3, n_neighbors=5, device="cpu"
    )  # fmt: skip
    scores = collect(store.finished, plan.engine_trials(source, "appnp", [0.4]))
    np.testing.assert_array_equal(scores.values, result.accuracies)


def test_inner_trials_see_only_the_labelled_fold(plan, sets, monkeypatch):
    source = plan.data[0]
    loaded = sets[source]
    seen = []
    monkeypatch.setattr(
        work_module,
        "train",
        lambda X, graph, replicas, *rest, **more: seen.extend(replicas) or [_wrong(r) for r in replicas],
    )
    outer = list(plan.engine_trials(source, "appnp", [0.1]))
    inner = list(plan.inner_trials(outer))
    material = Material.of(loaded, plan, ["reciprocal"])
    rows = work(material, Batch((*outer, *inner)), "cpu")
    labels = {trial: replica.labels for trial, replica in zip((*outer, *inner), seen, strict=True)}
    for trial, row in zip((*outer, *inner), rows, strict=True):
        if trial.inner is None:
            assert row.n_test == (labels[trial] < 0).sum()
            continue
        fold = labels[replace(trial, inner=None, inner_folds=None)] >= 0
        known = labels[trial] >= 0
        assert not known[~fold].any()
        assert row.n_test == fold.sum() - known.sum() > 0
    for fold in range(plan.folds):
        held = sum((labels[t] < 0).astype(int) for t in inner if t.fold == fold)
        first = labels[next(t for t in outer if t.fold == fold)] >= 0
        assert (held[first] == 1).all()


def _wrong(replica):
    from grande_gnn.engine.replica import Outcome

    return Outcome(np.full(len(replica.labels), -7))


def test_a_failed_batch_is_recorded_and_the_rest_goes_on(plan, sets, tmp_path, monkeypatch):
    real = work_module.train

    def sometimes(X, graph, replicas, n_classes, settings: Settings, **more):
        if settings.model == "sgc":
            raise MemoryError("no more\nmemory")
        return real(X, graph, replicas, n_classes, settings, **more)

    monkeypatch.setattr(work_module, "train", sometimes)
    store = run_all(plan, sets, tmp_path / "rows.jsonl")
    assert {trial.model for trial in store.finished} == {"appnp"}
    assert {row.error for row in store.failed.values()} == {"MemoryError: no more memory"}
    monkeypatch.undo()
    again = run_all(plan, sets, tmp_path / "rows.jsonl")
    assert not again.failed
    assert set(again.finished) == set(gains_trials(plan))


def test_a_failing_trial_does_not_take_its_batch_with_it(plan, sets, monkeypatch):
    real, bad_sigma, ticks = work_module.train, 0.4, []

    def picky(X, graph, replicas, *rest, **more):
        outcomes = real(X, graph, replicas, *rest, **more)
        if any(replica.degree == bad_sigma for replica in replicas):
            raise ValueError("not this one")
        return outcomes

    trials = list(plan.engine_trials(plan.data[0], "appnp", [None, 0.1, 0.4]))
    material = Material.of(sets[plan.data[0]], plan, ["reciprocal"])
    alone = {trial: row.accuracy for trial in trials for row in work(material, Batch((trial,)), "cpu")}
    monkeypatch.setattr(work_module, "train", picky)
    for row in work(material, Batch(tuple(trials)), "cpu", ticks.append):
        failed = row.trial.sigma == bad_sigma
        assert row.error == ("ValueError: not this one" if failed else None)
        assert row.accuracy == (None if failed else alone[row.trial])
    assert sum(ticks) == pytest.approx(len(trials))  # what was trained again is not counted again


@pytest.mark.parametrize("per_class", [10, 15])
def test_inner_trials_without_samples_fail_alone(tmp_path, save_toy, plan, per_class):
    """Ten folds leave one or two labels a class, which cannot fill three parts."""
    save_toy(tmp_path / "small" / "few", "a", per_class=per_class)
    (source,) = find_feature_sets(tmp_path / "small")
    plan = replace(plan, data=(source,), folds=10, repeats=1, inner_folds=3, models=("sgc",), sigmas=(0.2,))
    trials = tuple(gains_trials(plan))
    rows = work(Material.of(load_feature_set(source), plan, ["reciprocal"]), Batch(trials), "cpu")
    assert all(row.error is None for row in rows if row.trial.inner is None)
    assert not any(row.accuracy is not None and np.isnan(row.accuracy) for row in rows)
    errors = [row.error for row in rows if row.trial.inner == 2]  # the last part is the empty one
    assert len(errors) == 10
    assert all("use fewer folds" in error and error.endswith("0 to test on") for error in errors)


def test_changed_features_are_refused_before_anything_is_trained(plan, sets, tmp_path, monkeypatch):
    run_all(plan, sets, tmp_path / "rows.jsonl")
    before = (tmp_path / "rows.jsonl").read_bytes()
    source = plan.data[0]
    changed = dict(sets)
    changed[source] = replace(sets[source], fingerprint="0" * 16)
    monkeypatch.setattr(work_module, "train", None)
    with pytest.raises(InvalidInputError, match="never mixed with new data"):
        run_all(plan, changed, tmp_path / "rows.jsonl")
    assert (tmp_path / "rows.jsonl").read_bytes() == before


def test_too_many_folds_are_refused_before_anything_is_trained(plan, sets, tmp_path):
    with pytest.raises(InvalidInputError, match="folds=13"):
        run_all(replace(plan, folds=13), sets, tmp_path / "rows.jsonl")


def test_lost_processes_are_replaced_a_few_times(plan, sets, tmp_path, monkeypatch):
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    lost = []

    def lossy(self, left, materials):
        for number, batch in list(left.items()):
            if number % 5 == 3 and len(lost) < 2:
                lost.append(number)
                raise TerminatedWorkerError
            yield number, work(materials[batch.data], batch, "cpu")

    monkeypatch.setattr(LocalRunner, "_parallel", lossy)
    store = run_all(plan, sets, tmp_path / "rows.jsonl", LocalRunner(device="cpu", jobs=2))
    assert len(lost) == 2
    assert set(store.finished) == set(gains_trials(plan))
    lost.clear()
    with pytest.raises(GrandeError, match="want of memory"):
        run_all(plan, sets, tmp_path / "other.jsonl", LocalRunner(device="cpu", jobs=2, attempts=2))


def worker_processes():
    for path in Path("/proc/self/task").glob("*/children"):
        for child in path.read_text().split():
            if b"loky_posix" in Path(f"/proc/{child}/cmdline").read_bytes():
                yield int(child)


@pytest.mark.kills
def test_a_killed_process_of_the_local_runner_costs_nothing(plan, sets, tmp_path):
    if not Path("/proc/self/task").is_dir():
        pytest.skip("finding the worker processes needs /proc")
    whole = run_all(plan, sets, tmp_path / "whole.jsonl")
    killed = []

    def kill_one(forecast):
        if not killed:
            killed.append(next(worker_processes()))
            os.kill(killed[0], signal.SIGKILL)

    parts = run_all(plan, sets, tmp_path / "parts.jsonl", LocalRunner(device="cpu", jobs=2), watch=kill_one)
    assert killed
    assert measured(parts) == measured(whole)
    assert len((tmp_path / "parts.jsonl").read_text().splitlines()) == len(parts.finished)


def test_the_forecast_prices_each_kind_by_itself(plan):
    trials = list(gains_trials(plan))
    kinds = Counter(trial.kind for trial in trials)
    price = {kind: 1.0 + i for i, kind in enumerate(kinds)}
    forecast = Forecast(kinds, price, start=time.perf_counter() - sum(price.values()))
    assert forecast.expected() is None
    for kind in kinds:
        batch = Batch((next(trial for trial in trials if trial.kind == kind),))
        forecast.add(batch, 1, price[kind])
    truth = sum(kinds[kind] * price[kind] for kind in kinds)
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


def test_the_forecast_prices_unseen_kinds_by_weight(plan):
    trials = list(gains_trials(plan))
    kinds = Counter(trial.kind for trial in trials)
    weight = {kind: 10.0 * (i + 1) for i, kind in enumerate(kinds)}
    seen = trials[0]
    forecast = Forecast(kinds, weight, start=time.perf_counter() - 5.0)
    forecast.add(Batch((seen,)), 1, 5.0)
    truth = sum(kinds[kind] * weight[kind] for kind in kinds) * 5.0 / weight[seen.kind]
    assert forecast.expected() == pytest.approx(truth, rel=0.01)


def test_progress_adds_up_to_all_trials(plan, sets, tmp_path):
    seen = []
    run_all(
        plan,
        sets,
        tmp_path / "rows.jsonl",
        watch=lambda forecast: seen.append((forecast.done, forecast.total)),
    )
    assert seen[-1][0] == pytest.approx(seen[-1][1]) == len(set(gains_trials(plan)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
