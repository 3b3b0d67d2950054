"""What tables are made from: runs that are resumed, lookups, and notes for the reader."""

from contextlib import contextmanager
from dataclasses import replace

from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.runners.local import LocalRunner
from grande_gnn.experiments.tables.results import gather
from grande_gnn.experiments.tables.table1_gains import gains_trials
from grande_gnn.experiments.trials import Plan


def test_gather_runs_what_is_missing_and_returns_all(plan, sets, tmp_path):
    seen = []

    @contextmanager
    def watching(total, known):
        yield lambda forecast: seen.append((total, known, forecast.done))

    trials = list(gains_trials(plan))
    options = {"runner": LocalRunner("cpu"), "watching": watching}
    half = gather(plan, trials[: len(trials) // 2], sets, tmp_path / "new" / "out", **options)
    assert set(half.finished) == set(trials[: len(trials) // 2])
    whole = gather(plan, trials * 2, sets, tmp_path / "new" / "out", **options)
    assert set(whole.finished) == set(trials)
    assert not whole.failed
    assert {known for _, known, _ in seen} == {0, len(trials) // 2}
    scores = whole.scores(plan.engine_trials(plan.data[0], "sgc", [0.1]))
    assert scores.values.shape == (plan.repeats, plan.folds)


def test_failures_of_these_trials_are_returned(plan, sets, tmp_path, monkeypatch):
    monkeypatch.setattr(LearningProblem, "train", None)
    trials = list(gains_trials(plan))
    some = gather(plan, trials[:3], sets, tmp_path, LocalRunner("cpu"))
    assert set(some.failed) == set(trials[:3])
    other = gather(plan, trials[3:5], sets, tmp_path, LocalRunner("cpu"), compared_with={"a": "ResNet"})
    assert set(other.failed) == set(trials[3:5])
    assert other.compared_with == {"a": "ResNet"}


def test_a_custom_dataset_has_a_star_and_no_row_of_the_paper(made):
    found = made.results(Plan(data=(made.paper, made.lite, made.custom)), [])
    assert [found.title(source) for source in found.plan.data] == ["Flowers17", "Flowers17", "corel5k*"]
    rows = [found.paper_row(3, source) for source in found.plan.data]
    assert [row is None for row in rows] == [False, True, True]
    asked = replace(found, compared_with={"lite0": "SENet"})
    assert asked.paper_row(3, made.lite)["features"] == "SENet"
    assert asked.paper_row(3, made.custom) is None


def test_notes_tell_what_differs_from_the_paper(made):
    plain = made.results(Plan(data=(made.paper,)), [])
    assert plain.notes() == []
    changed = made.results(Plan(data=(made.custom,), lr=0.5, graph="knn"), [])
    failed = next(Plan(data=(made.custom,)).system_trials(made.custom, "svm"))
    error = Row(failed, "", "", 0.0, error="OSError: no")
    first, second, third, last = replace(changed, failed={failed: error}).notes()
    assert first == (
        "Settings other than the paper's: graph = knn (the paper's: reciprocal); lr = 0.5 (the paper's: 0.001, "
        "CUB200 0.01)."
    )
    assert second.startswith("* a custom dataset")
    assert "4,999" in third
    assert last == "Failed: svm: OSError: no"
