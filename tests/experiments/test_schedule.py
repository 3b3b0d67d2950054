"""Plan → rows: skipping, resuming, failing, and what is refused before anything is trained."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.evaluate import evaluate
from grande_gnn.experiments.rows import Rows
from grande_gnn.experiments.runners.local import LocalRunner
from grande_gnn.experiments.schedule import batch_size, run
from grande_gnn.experiments.statistics import collect
from grande_gnn.experiments.tables.table1_gains import gains_trials


class Interrupted(LocalRunner):
    """Stops like Ctrl-C after some batches."""

    def run(self, batches, shared, on_progress):
        for _, result in zip(range(3), super().run(batches, shared, on_progress), strict=False):
            yield result
        raise KeyboardInterrupt


def test_every_trial_becomes_a_row_and_a_rerun_trains_nothing(
    plan, sets, tmp_path, monkeypatch, run_all, measured
):
    store = run_all(plan, sets, tmp_path / "rows.jsonl")
    assert set(store.finished) == set(gains_trials(plan))
    monkeypatch.setattr(LearningProblem, "train", None)
    assert measured(run_all(plan, sets, tmp_path / "rows.jsonl")) == measured(store)
    assert not store.failed


def test_interrupted_and_resumed_rows_equal_an_uninterrupted_runs(plan, sets, tmp_path, run_all, measured):
    whole = run_all(plan, sets, tmp_path / "whole.jsonl")
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run_all(plan, sets, tmp_path / "parts.jsonl", Interrupted(device="cpu"))
    parts = run_all(plan, sets, tmp_path / "parts.jsonl")
    assert measured(parts) == measured(whole)
    lines = Counter((tmp_path / "parts.jsonl").read_text().splitlines())
    assert len(lines) == len(parts.finished)


def test_rows_are_what_evaluate_measures(plan, sets, tmp_path, run_all):
    store = run_all(plan, sets, tmp_path / "rows.jsonl")
    source = plan.data[0]
    loaded = sets[source]
    result, = evaluate(
        loaded.X, loaded.codes, sigma=0.4, hidden=8, folds=3, repeats=2, epochs=3, n_neighbors=5, device="cpu"
    )  # fmt: skip
    scores = collect(store.finished, plan.engine_trials(source, "appnp", [0.4]))
    np.testing.assert_array_equal(scores.values, result.accuracies)


def test_a_failed_batch_is_recorded_and_the_rest_goes_on(plan, sets, tmp_path, monkeypatch, run_all):
    real = LearningProblem.train

    def sometimes(problem, label_sets, **more):
        if problem.settings.kind.title == "SGC":
            raise MemoryError("no more\nmemory")
        return real(problem, label_sets, **more)

    monkeypatch.setattr(LearningProblem, "train", sometimes)
    store = run_all(plan, sets, tmp_path / "rows.jsonl")
    assert {trial.model for trial in store.finished} == {"appnp"}
    assert {row.error for row in store.failed.values()} == {"MemoryError: no more memory"}
    monkeypatch.undo()
    again = run_all(plan, sets, tmp_path / "rows.jsonl")
    assert not again.failed
    assert set(again.finished) == set(gains_trials(plan))


def test_changed_features_are_refused_before_anything_is_trained(plan, sets, tmp_path, monkeypatch, run_all):
    run_all(plan, sets, tmp_path / "rows.jsonl")
    before = (tmp_path / "rows.jsonl").read_bytes()
    source = plan.data[0]
    changed = dict(sets)
    changed[source] = replace(sets[source], fingerprint="0" * 16)
    monkeypatch.setattr(LearningProblem, "train", None)
    with pytest.raises(InvalidInputError, match="never mixed with new data"):
        run_all(plan, changed, tmp_path / "rows.jsonl")
    assert (tmp_path / "rows.jsonl").read_bytes() == before


def test_too_many_folds_are_refused_before_anything_is_trained(plan, sets, tmp_path, run_all):
    with pytest.raises(InvalidInputError, match="folds=13"):
        run_all(replace(plan, folds=13), sets, tmp_path / "rows.jsonl")


def test_rows_may_stay_in_memory(plan, sets, tmp_path, run_all, measured):
    rows = Rows()
    run(plan, gains_trials(plan), sets, rows, LocalRunner(device="cpu"), size=lambda trial: 1000)
    assert measured(rows) == measured(run_all(plan, sets, tmp_path / "rows.jsonl"))


def test_a_kill_on_a_cpu_loses_few_trials(plan):
    """Eleven trainings of the engine at most, and one of any other system."""
    engine = next(gains_trials(plan))
    (other, *_) = plan.system_trials(plan.data[0], "svm")
    assert batch_size(engine, cuda=False) == 11 < batch_size(engine, cuda=True)
    assert batch_size(other, cuda=False) == batch_size(other, cuda=True) == 1


def test_what_is_finished_is_not_given_to_the_runner(plan, sets, tmp_path, run_all):
    seen = []

    class Spy(LocalRunner):
        def run(self, batches, shared, on_progress):
            seen.append(sum(len(batch.trials) for batch in batches))
            yield from super().run(batches, shared, on_progress)

    for _ in range(2):
        run_all(plan, sets, tmp_path / "rows.jsonl", Spy(device="cpu"))
    assert seen == [len(set(gains_trials(plan))), 0]


def test_progress_adds_up_to_all_trials(plan, sets, tmp_path, run_all):
    seen = []
    run_all(
        plan,
        sets,
        tmp_path / "rows.jsonl",
        watch=lambda forecast: seen.append((forecast.done, forecast.total)),
    )
    assert seen[-1][0] == pytest.approx(seen[-1][1]) == len(set(gains_trials(plan)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
