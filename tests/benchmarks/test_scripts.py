"""The long benchmarks run at small sizes, and go on where they stopped."""

import csv
import subprocess
import sys
from math import inf
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(script, *arguments):
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_growth_measures_predicts_and_draws(tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    out = tmp_path / "growth.csv"
    options = ("--device", "cpu", "--models", "sgc", "--out", out)
    run("growth.py", *options, "--sizes", 1000)
    said = run("growth.py", *options, "--sizes", 1000, 2000)
    rows = rows_of(out)
    assert [int(row["n"]) for row in rows] == [1000, 2000]
    assert all(float(row["epoch_seconds"]) > 0 for row in rows)
    assert "graph_seconds" in said
    assert out.with_suffix(".png").stat().st_size > 10_000


@pytest.mark.slow
def test_table_1_at_the_papers_shapes_is_resumed(tmp_path):
    out = tmp_path / "table1.csv"
    options = ("--device", "cpu", "--datasets", "flowers17", "--models", "sgc", "--repeats", 1, "--out", out)
    run("table1.py", *options, "--features", "vit")
    (first,) = rows_of(out)
    assert int(first["trainings"]) == 110
    said = run("table1.py", *options, "--features", "vit")
    assert rows_of(out) == [first]
    assert "110 trainings in 1 rows" in said


@pytest.mark.slow
def test_precisions_are_compared_fold_by_fold(features_file, tmp_path):
    out = tmp_path / "precision.csv"
    run("precision.py", features_file, "--device", "cpu", "--out", out)
    rows = rows_of(out)
    assert [row["precision"] for row in rows] == ["tf32", "half", "highest"] * 2
    assert all(float(row["difference"]) == 0 for row in rows)  # the CPU knows one precision only


@pytest.mark.slow
@pytest.mark.alone
def test_the_engine_beside_the_loop_and_the_limit(tmp_path):
    pytest.importorskip("torch_geometric", reason="needs the extra pyg")
    out = tmp_path / "engine.csv"
    said = run("engine.py", "--device", "cpu", "--rows", "one-sgc", "--rounds", 1, "--out", out)
    (row,) = rows_of(out)
    assert float(row["ratio"]) == pytest.approx(
        float(row["pyg_ms_per_training"]) / float(row["ms_per_training"])
    )
    assert 0 < float(row["of_limit"]) < 1.5
    assert row["cpu"]
    assert "one-sgc" in said


def test_the_limit_counts_products_parameters_and_edges(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import engine  # a script of the benchmarks

    class Edges:
        n_edges = 7000

    def parts(model):
        row = engine.Row("row", "flowers17", 100, model, 1, folds=1, repetitions=1)
        rates = [(1.0, inf, inf), (inf, 1.0, inf), (inf, inf, 1.0)]
        return [
            engine.limit_seconds(row, Edges, engine.Ceilings(*rate), hidden=8, epochs=1) for rate in rates
        ]

    n, d, c, h = 1360, 100, 17, 8
    assert parts("sgc") == [4 * n * d * c, 28 * (d * c + c), 3 * 2 * 7000 * c * 4]
    both_layers = 4 * n * d * h + 6 * n * h * c
    assert parts("appnp") == [both_layers, 28 * (d * h + h + h * c + c), 11 * 2 * 7000 * c * 4]


def test_the_engine_is_measured_at_the_shapes_of_all_five_datasets(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import engine

    pairs = {(row.dataset, row.model) for row in engine.GPU_ROWS}
    assert pairs == {(dataset, model) for dataset in engine.SHAPES for model in ("sgc", "appnp")}


@pytest.mark.slow
def test_the_committee_is_compared_draw_by_draw_and_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (np.eye(3, 6)[y] * 4 + rng.normal(size=(60, 6))).astype(np.float32)
    (tmp_path / "made").mkdir()
    np.savez(
        tmp_path / "made" / "features_made.npz", features=X, labels=y, files=[f"{i}.png" for i in range(60)]
    )
    out = tmp_path / "committee.csv"
    options = ("--data", tmp_path, "--sets", "made", "--cases", "r2", "--device", "cpu", "--out", out)
    systems = ("--systems", "knn 20 center-l2", "logistic regression")
    run("committee.py", *options, *systems, "--draws", 1)
    first = rows_of(out)
    assert [row["system"] for row in first] == list(systems[1:])
    assert all(0 <= float(row["accuracy"]) <= 100 and row["labels"] == "6" for row in first)
    assert "minus best: mean" in run("committee.py", *options, *systems, "committee", "--draws", 1)
    rows = rows_of(out)
    assert rows[:2] == first
    assert [row["system"] for row in rows] == [*systems[1:], "committee"]


@pytest.mark.slow
def test_the_pipeline_is_measured_stage_by_stage_and_resumed(tmp_path):
    out = tmp_path / "pipeline.csv"
    options = ("--device", "cpu", "--threads", 1, "--out", out)
    run("pipeline.py", *options, "--cases", "300:5")
    run("pipeline.py", *options, "--cases", "300:5", "600:5")
    rows = rows_of(out)
    assert [int(row["n"]) for row in rows] == [300, 600]
    for row in rows:
        stages = sum(
            float(value) for name, value in row.items() if name.endswith("_seconds") and name != "cpu_seconds"
        )
        assert stages == pytest.approx(float(row["seconds"]), rel=0.05)
        assert float(row["accuracy"]) > 0.3


def test_growth_of_the_pipeline_is_that_of_the_last_rows_with_the_same_search(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import pipeline  # a script of the benchmarks

    same = {"device": "cpu", "backend": "", "classes": "100", "all_members": "0", "seed": "0"}
    sizes = [("1000", "1"), ("10000", "5"), ("1000", "2"), ("10000", "20")]
    rows = [same | {"n": n, **dict.fromkeys(_columns(pipeline), seconds)} for n, seconds in sizes]
    changes = {"device": "cuda", "seed": "1", "classes": "10", "all_members": "1", "backend": "approximate"}
    other = [rows[0] | {key: value, "seconds": "0.1"} for key, value in changes.items()]
    slopes = pipeline.exponents([*rows, *other], "cpu")
    assert slopes == pytest.approx(dict.fromkeys(_columns(pipeline), 1.0))
    rough = [row | {"backend": "approximate", "seconds": "7"} for row in rows]
    assert pipeline.exponents([*rows, *rough], "cpu", "approximate")["seconds"] == 0
    assert pipeline.exponents(rows[:1], "cpu") == {}


def _columns(pipeline):
    return ["seconds", *(f"{stage}_seconds" for stage in pipeline.STAGES)]


@pytest.mark.slow
def test_trainings_that_end_earlier_are_compared_and_resumed(tmp_path):
    out = tmp_path / "fewer.csv"
    options = ("--made", "300:3", "--per-class", 5, "--device", "cpu", "--threads", 1, "--out", out)
    run("fewer_epochs.py", *options, "--draws", 1)
    first = rows_of(out)
    assert [int(row["epochs"]) for row in first] == [50, 75, 100, 125, 150, 175, 200]
    said = run("fewer_epochs.py", *options, "--draws", 2)
    rows = rows_of(out)
    assert rows[:7] == first
    assert {row["draw"] for row in rows} == {"0", "1"}
    assert "| made 300:3 | 5 | 2 | 0.01 |" in said


def test_the_rule_ends_at_the_first_number_of_epochs_with_few_changed_answers(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import fewer_epochs  # a script of the benchmarks

    changes = {"50": "", "75": "0.2", "100": "0.004", "125": "0.02", "150": "0.001"}
    rows = [
        {"set": "one", "per_class": "2", "draw": "0", "epochs": epochs, "changed": share, "accuracy": int(epochs) / 200}
        for epochs, share in changes.items()
    ]  # fmt: skip
    assert fewer_epochs.stopped(rows, 0.005)["epochs"] == "100"
    assert fewer_epochs.stopped(rows, 0.001)["epochs"] == "150"
    assert fewer_epochs.stopped(rows, 0.0001) is rows[-1]
    row = next(row for row in fewer_epochs.summary(rows) if row["changed_at_most"] == 0.005)
    assert (row["draws"], row["epochs"], row["difference"]) == (1, 100, -25)


def test_the_parts_of_an_epoch_add_up_and_none_is_far_below_its_limit(tmp_path):
    out = tmp_path / "parts.csv"
    run("epoch_parts.py", "--n", 3000, "--threads", 1, "--epochs", 3, "--out", out)
    rows = {row["part"]: row for row in rows_of(out)}
    parts = [float(row["seconds"]) for name, row in rows.items() if name != "epoch"]
    assert sum(parts) == pytest.approx(float(rows["epoch"]["seconds"]), rel=0.01)
    assert float(rows["products"]["seconds"]) > 0.5 * float(rows["products"]["limit_seconds"])


@pytest.mark.slow
def test_searches_are_compared_in_processes_of_their_own(tmp_path):
    out = tmp_path / "search.csv"
    run("neighbor_search.py", "--n", 2500, "--methods", "exact", "approximate", "--threads", 1, "--out", out)
    exact, approximate = rows_of(out)
    assert float(exact["recall"]) == 1
    assert 0.94 <= float(approximate["recall"]) <= 1
