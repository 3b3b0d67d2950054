"""From trials to rows: which labels are seen, what is measured, and errors that stay alone."""

from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.baselines import SYSTEMS
from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.engine import Outcome
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import find_feature_sets, load_feature_set
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.experiments.measure import SharedData, measure, one_line, score
from grande_gnn.experiments.tables.table1_gains import gains_trials
from grande_gnn.experiments.trials import Batch


def test_inner_trials_see_only_the_labelled_fold(plan, sets, monkeypatch):
    source = plan.data[0]
    loaded = sets[source]
    seen = []

    def wrong(problem, label_sets, **more):
        seen.extend(label_sets)
        return [Outcome(np.full(len(known.labels), -7)) for known in label_sets]

    monkeypatch.setattr(LearningProblem, "train", wrong)
    outer = list(plan.engine_trials(source, "appnp", [0.1]))
    inner = list(plan.inner_trials(outer))
    shared = SharedData.of(loaded, plan, ["reciprocal"])
    rows = measure(shared, Batch((*outer, *inner)), "cpu")
    labels = {trial: known.labels for trial, known in zip((*outer, *inner), seen, strict=True)}
    for trial, row in zip((*outer, *inner), rows, strict=True):
        assert row.accuracy == 0
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


def test_a_failing_trial_does_not_take_its_batch_with_it(plan, sets, monkeypatch):
    real, bad_sigma, steps = LearningProblem.train, 0.4, []

    def picky(problem, label_sets, **more):
        outcomes = real(problem, label_sets, **more)
        if any(known.degree.sigma == bad_sigma for known in label_sets):
            raise ValueError("not this one")
        return outcomes

    trials = list(plan.engine_trials(plan.data[0], "appnp", [None, 0.1, 0.4]))
    shared = SharedData.of(sets[plan.data[0]], plan, ["reciprocal"])
    alone = {trial: row.accuracy for trial in trials for row in measure(shared, Batch((trial,)), "cpu")}
    monkeypatch.setattr(LearningProblem, "train", picky)
    for row in measure(shared, Batch(tuple(trials)), "cpu", steps.append):
        failed = row.trial.sigma == bad_sigma
        assert row.error == ("ValueError: not this one" if failed else None)
        assert row.accuracy == (None if failed else alone[row.trial])
    assert sum(steps) == pytest.approx(len(trials))  # what was trained again is not counted again


@pytest.mark.parametrize("per_class", [10, 15])
def test_inner_trials_without_samples_fail_alone(tmp_path, save_toy, plan, per_class):
    """Ten folds leave one or two labels per class, which cannot fill three parts."""
    save_toy(tmp_path / "small" / "few", "a", per_class=per_class)
    (source,) = find_feature_sets(tmp_path / "small")
    plan = replace(plan, data=(source,), folds=10, repeats=1, inner_folds=3, models=("sgc",), sigmas=(0.2,))
    trials = tuple(gains_trials(plan))
    rows = measure(SharedData.of(load_feature_set(source), plan, ["reciprocal"]), Batch(trials), "cpu")
    assert all(row.error is None for row in rows if row.trial.inner is None)
    assert not any(row.accuracy is not None and np.isnan(row.accuracy) for row in rows)
    errors = [row.error for row in rows if row.trial.inner == 2]  # the last part is the empty one
    assert len(errors) == 10
    assert all("use fewer folds" in error and error.endswith("0 to test on") for error in errors)


@pytest.fixture
def shared(plan, sets):
    return SharedData.of(sets[plan.data[0]], plan, ["reciprocal"])


def test_an_error_raises_unless_it_is_to_become_a_row(plan, shared):
    (trial, *_) = plan.engine_trials(plan.data[0], "appnp", [0.1])
    wrong = replace(trial, lr=-1.0)
    with pytest.raises(InvalidInputError, match="lr must be"):
        score(shared, [trial, wrong], "cpu")
    good, bad = measure(shared, Batch((trial, wrong)), "cpu")
    assert good.error is None
    assert bad.error.startswith("lr must be")


def test_errors_on_one_line():
    assert one_line(InvalidInputError("a sentence;\ngot 1")) == "a sentence; got 1"
    assert one_line(KeyError("x")) == "KeyError: 'x'"
    assert one_line(MemoryError()) == "MemoryError: "


def test_a_system_is_seeded_by_its_repetition_and_measured_on_its_fold(plan, shared):
    """Each trial is the system alone, on the labels of its fold, with the seed of its repetition."""
    trials = list(plan.system_trials(plan.data[0], "ml-perc"))
    assert len(trials) == plan.repeats * plan.folds
    seeded = [replace(trial, seed=5) for trial in trials]
    splits = paper_folds(shared.codes, plan.folds)
    for trial, got in zip(seeded, score(shared, seeded, "cpu"), strict=True):
        train, test = splits[trial.fold]
        system = SYSTEMS["ml-perc"].make(random_state=5 + trial.repetition)
        (answer,) = system.transduce_folds(shared.X, fold_labels(shared.codes, train)[None])
        assert got.accuracy == 100 * np.mean(answer.codes[test] == shared.codes[test])
        assert (got.n_test, got.unreached) == (len(test), None)
    seeds = {
        system: {t.repetition for t in plan.system_trials(plan.data[0], system)}
        for system in ("svm", "ml-perc")
    }
    assert seeds == {"svm": {0}, "ml-perc": {0, 1}}


def test_trials_that_are_trained_apart_may_share_a_batch(plan, shared):
    first = list(plan.engine_trials(plan.data[0], "appnp", [0.1]))
    mixed = [
        *first,
        *(replace(trial, seed=9) for trial in first),
        *(replace(trial, epochs=1) for trial in first),
    ]
    together = score(shared, mixed, "cpu")
    alone = [score(shared, [trial], "cpu")[0] for trial in mixed]
    assert together == alone


def test_samples_no_label_reaches_are_counted(plan, shared):
    data = replace(shared, graphs={"reciprocal": _apart(len(shared.X))}, count_unreached=True)
    (trial, *_) = plan.engine_trials(plan.data[0], "sgc", [None])
    train, _ = paper_folds(shared.codes, plan.folds)[0]
    (got,) = score(data, [trial], "cpu")
    assert got.unreached == len(shared.X) - len(train)
    (uncounted,) = score(replace(data, count_unreached=False), [trial], "cpu")
    assert uncounted == got._replace(unreached=None)


def _apart(n):
    from grande_gnn.graph import Graph

    return Graph.from_edges([], [], n)


def test_a_system_for_images_needs_their_folder(plan, shared):
    (trial, *_) = plan.system_trials(plan.data[0], "comatch")
    (row,) = measure(shared, Batch((trial,)), "cpu")
    assert row.error.startswith(
        "this system works on images, not on features: give their folder with --images"
    )


def test_features_are_normalized_before_the_graph_is_built(plan, sets):
    loaded = sets[plan.data[0]]
    scaled = replace(loaded, X=loaded.X * 7)
    plans = [replace(plan, normalize="center-l2"), plan]
    same, other = ([SharedData.of(each, p, ["knn"]).X for each in (loaded, scaled)] for p in plans)
    np.testing.assert_allclose(same[0], same[1], atol=1e-6)
    assert (other[0] != other[1]).any()


def test_neighbors_are_searched_once_for_all_graphs(plan, sets, monkeypatch):
    from grande_gnn.graph import build_graph, neighbors

    searches, search = [], neighbors.BACKENDS["exact"]
    monkeypatch.setitem(
        neighbors.BACKENDS, "exact", lambda *given: searches.append(given[1]) or search(*given)
    )
    kinds = ["reciprocal", "dgcg", "mgcn", "knn"]
    shared = SharedData.of(sets[plan.data[0]], plan, kinds)
    assert len(searches) == 1
    for kind in kinds:
        alone = build_graph(kind, shared.X, plan.n_neighbors)
        np.testing.assert_array_equal(shared.graphs[kind].indices, alone.indices)
