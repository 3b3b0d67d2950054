"""Every system on the same folds: the numbers, their differences, and a comparison that can be resumed."""

import json
import math

import numpy as np
import pytest

from grande_gnn.baselines.supervised import KNN
from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.experiments import evaluate
from grande_gnn.experiments.compare import SystemResult, compare_systems, paper_sign
from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.rows import RowStore
from grande_gnn.experiments.tables.table3_systems import systems_trials
from grande_gnn.experiments.trials import Plan
from grande_gnn.graph import build_graph
from grande_gnn.internal.features_file import FeaturesFile

NAMES = ["knn", "comatch", "grande", "knn"]


@pytest.fixture(scope="module")
def content():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (rng.normal(size=(3, 5)) * 2)[y] + rng.normal(size=(60, 5))
    names = np.array([f"images/{i}.png" for i in range(60)])
    return FeaturesFile(X.astype(np.float32), names, np.array(["ant", "bee", "cat"])[y])


@pytest.fixture(scope="module")
def results(content):
    return list(compare_systems(content, NAMES, folds=3, repeats=2, epochs=9))


def test_the_reference_goes_first_with_both_models(results):
    assert [(r.system, r.model) for r in results] == [
        ("grande", "sgc"), ("grande", "appnp"), ("knn", None), ("comatch", None)
    ]  # fmt: skip


def test_grande_is_what_evaluate_measures(content, results):
    for result in results[:2]:
        (expected,) = evaluate(
            content.features, content.labels, model=result.model, folds=3, repeats=1, epochs=9
        )
        np.testing.assert_allclose(result.accuracies[0], expected.accuracies[0])
        assert result.accuracies.shape == (2, 3)


def test_each_repetition_has_the_next_seed(content, results):
    options = {"folds": 3, "repeats": 1, "epochs": 9}
    for result in results[:2]:
        (expected,) = evaluate(
            content.features, content.labels, model=result.model, random_state=1, **options
        )
        np.testing.assert_allclose(result.accuracies[1], expected.accuracies[0])
        assert (result.accuracies[0] != result.accuracies[1]).any()
    first, second = (
        next(compare_systems(content, ["ml-perc"], **options, seed=seed)).accuracies for seed in (4, 5)
    )
    (both,) = compare_systems(content, ["ml-perc"], **(options | {"repeats": 2}), seed=4)
    np.testing.assert_array_equal(both.accuracies, np.concatenate([first, second]))


def test_graph_systems_have_their_graph_and_degree(content):
    options = {"folds": 3, "repeats": 1, "epochs": 9, "n_neighbors": 12}
    for name, degree, kind in [("dgcg", "centrality", "dgcg"), ("d-grande", "grande", "dgcg-self")]:
        sgc, _ = compare_systems(content, [name], **options)
        graph = build_graph(kind, content.features, 12)
        (expected,) = evaluate(
            content.features, content.labels, model="sgc", degree=degree, graph=graph, **options
        )
        np.testing.assert_array_equal(sgc.accuracies, expected.accuracies)


def test_a_system_without_random_numbers_runs_once(results):
    assert results[2].accuracies.shape == (1, 3)


def test_differences_are_paired_with_the_better_grande(results):
    best = max(results[:2], key=lambda result: result.accuracy_mean)
    other, knn = next(r for r in results[:2] if r is not best), results[2]
    assert best.difference is None
    for result in (other, knn):
        gaps = result.accuracies.mean(0) - best.accuracies.mean(0)
        assert result.difference.mean == pytest.approx(gaps.mean())
        reach = 4.302652729 * gaps.std(ddof=1) / math.sqrt(3)  # Student's t, two degrees of freedom
        assert result.difference.high == pytest.approx(gaps.mean() + reach)


def test_a_failure_is_a_row_and_not_the_end(results):
    row = results[3].as_row()
    assert row["accuracy_mean"] is None
    assert "--images" in row["error"]


def test_rows_hold_plain_numbers(results):
    for result in results:
        row = result.as_row()
        assert {"system", "accuracy_mean", "accuracy_std", "seconds"} <= set(row)
        assert all(value is None or type(value) in (str, int, float) for value in row.values())
        assert not any(isinstance(value, float) and math.isnan(value) for value in row.values())
    one = SystemResult("knn", accuracies=np.array([[50.0, 60.0]])).as_row()
    assert one["accuracy_std"] == pytest.approx(math.sqrt(50))
    assert one["std_repetitions"] is None
    assert one["difference"] is None


def test_names_are_checked_before_anything_runs(content):
    with pytest.raises(InvalidInputError, match="got 'vgg'"):
        compare_systems(content, ["knn", "vgg"])
    with pytest.raises(FileFormatError, match="no array 'labels'"):
        compare_systems(FeaturesFile(content.features, content.files, None), ["knn"])


def test_the_papers_signs():
    assert paper_sign("svm") == "-9"
    assert paper_sign("wsef") == "-8 +1"
    assert paper_sign("gnn-lds") == "-8"  # one cell is empty
    assert paper_sign("grande") is None
    assert paper_sign("knn") is None


# -- resuming -----------------------------------------------------------------------------------------


def numbers(results):
    return [
        {name: value for name, value in result.as_row().items() if name != "seconds"} for result in results
    ]


def rows_of(out):
    return [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]


def test_kept_rows_give_the_same_comparison_and_nothing_runs_twice(content, results, tmp_path, monkeypatch):
    options = {"folds": 3, "repeats": 2, "epochs": 9, "out": tmp_path, "path": "data/pets/features_vit.npz"}
    first = list(compare_systems(content, NAMES, **options))
    assert numbers(first) == numbers(results)
    rows = rows_of(tmp_path)
    assert {(row["dataset"], row["features"]) for row in rows} == {("pets", "vit")}
    assert {row["system"] for row in rows} == {"grande", "knn", "comatch"}
    assert all(row["seconds"] > 0 for row in rows)
    monkeypatch.setattr(LearningProblem, "train", None)
    monkeypatch.setattr(KNN, "fit", None)
    again = list(compare_systems(content, NAMES, **options))
    assert numbers(again) == numbers(first)
    assert len(rows_of(tmp_path)) == len(rows)


def test_a_stopped_comparison_goes_on_where_it_was(content, tmp_path):
    options = {"folds": 3, "epochs": 9, "out": tmp_path}
    started = compare_systems(content, ["svm", "knn"], **options)
    next(started)
    started.close()
    assert {row["system"] for row in rows_of(tmp_path)} == {"svm"}
    assert numbers(compare_systems(content, ["svm", "knn"], **options)) == numbers(
        compare_systems(content, ["svm", "knn"], folds=3, epochs=9)
    )
    assert [row["system"] for row in rows_of(tmp_path)] == ["svm"] * 3 + ["knn"] * 3


def test_rows_are_shared_with_the_tables(content, tmp_path):
    """One repetition of a comparison has the rows of table 3's first."""
    list(
        compare_systems(content, ["grande", "svm"], folds=3, epochs=9, out=tmp_path, path="a/features_b.npz")
    )
    source = FeatureSet("a", "b", tmp_path)
    plan = Plan((source,), folds=3, repeats=1, epochs=9, systems=("grande", "svm"), lr=1e-3)
    with RowStore(tmp_path / "rows.jsonl") as store:
        assert set(store.finished) == set(systems_trials(plan))


def test_other_parameters_are_other_rows_and_other_data_is_refused(content, tmp_path):
    for n_neighbors in (1, 5, 1):
        list(compare_systems(content, ["knn"], folds=3, out=tmp_path, n_neighbors=n_neighbors))
    assert [row.get("options") for row in rows_of(tmp_path)] == [{"n_neighbors": 1}] * 3 + [None] * 3
    changed = FeaturesFile(content.features + 1, content.files, content.labels)
    with pytest.raises(InvalidInputError, match="never mixed with new data"):
        list(compare_systems(changed, ["knn"], folds=3, out=tmp_path))


def test_a_failure_before_the_training_is_a_row_too(content, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("grande_gnn.experiments.measure.build_graph", full)
    sgc, appnp, knn = compare_systems(content, ["grande", "knn"], folds=3)
    assert (sgc.error, appnp.error, knn.error) == ("MemoryError: ", "MemoryError: ", None)
    assert knn.difference is None
