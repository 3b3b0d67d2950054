"""Two versions side by side: here this tree twice, so that everything is equal and nothing is slower."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "benchmarks"


def run(script, *arguments):
    command = [sys.executable, str(FOLDER / script), "--old", str(PROJECT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import version_worker  # a script of the benchmarks

    return version_worker


@pytest.fixture
def data(tmp_path):
    """A small dataset in the place of Flowers17."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    folder = tmp_path / "data" / "flowers17"
    folder.mkdir(parents=True)
    features = rng.normal(size=(60, 1280)) + np.eye(3, 1280)[labels]
    np.savez(folder / "features_a.npz", features=features.astype(np.float16), labels=labels)
    return folder.parent


def test_the_interval_of_a_median(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    from old_and_new import interval_of_median

    assert interval_of_median([3, 1, 2]) == (1, 3)
    assert interval_of_median(range(7)) == (0, 6)
    assert interval_of_median(range(9)) == (1, 7)
    assert interval_of_median(range(12)) == (2, 9)
    rng = np.random.default_rng(0)
    intervals = [interval_of_median(rng.exponential(size=12)) for _ in range(2000)]
    assert np.mean([low <= np.log(2) <= high for low, high in intervals]) >= 0.94


def test_every_operation_runs_and_repeats_itself(worker, data):
    made = {"n": 300, "d": 8, "device": "cpu"}
    fitted = {"dataset": "flowers17", "d": 1280, "data": str(data)}
    fast = {"epochs": 3, "device": "cpu", "model": "sgc"}
    arguments = {
        "lists": made | {"length": 10},
        "graph": made | {"kind": "reciprocal"},
        "fit": fitted | {"settings": fast},
        "evaluate": fitted | {"settings": fast},
        "label": made | {"dataset": "made", "n": 600, "model": "sgc", "data": None},
    }
    for name, values in arguments.items():
        prepared = {}
        command = {"do": "prepare", "name": "it", "operation": name, "arguments": values}
        first = worker.answer(command, prepared)["digest"]
        again = worker.answer({"do": "run", "name": "it"}, prepared)
        assert again["digest"] == first
        assert again["seconds"] > 0
    with pytest.raises(ValueError, match="no such command"):
        worker.answer({"do": "something"}, {})


@pytest.mark.slow
@pytest.mark.alone
def test_a_version_is_as_fast_as_itself_and_rows_are_kept(tmp_path):
    out = tmp_path / "rows.csv"
    options = ("--pairs", 2, "--threads", 1, "--out", out, "--epochs", 5)
    run("old_and_new.py", *options, "--rows", "one-sgc")
    done = run("old_and_new.py", *options, "--rows", "graph-reciprocal")
    assert [row["row"] for row in rows_of(out)] == ["one-sgc", "graph-reciprocal"], done.stderr
    for row in rows_of(out):
        assert 0.3 < float(row["low"]) <= float(row["ratio"]) <= float(row["high"]) < 3
        assert row["same_result"] == "True"


@pytest.mark.slow
def test_a_version_gives_its_own_results(data, tmp_path):
    out = tmp_path / "rows.csv"
    options = ("--data", data, "--datasets", "flowers17", "--threads", 1, "--out", out)
    done = run("same_results.py", *options, "--cases", "fit-sgc-grande", "evaluate-sgc")
    assert done.returncode == 0, done.stderr
    rows = rows_of(out)
    assert [row["what"] for row in rows] == ["fit-sgc-grande", "evaluate-sgc"]
    assert all(float(row["largest_difference"]) == 0 and row["not_identical"] == "" for row in rows)


def test_an_old_version_must_be_a_tree(tmp_path):
    done = subprocess.run(
        [sys.executable, FOLDER / "old_and_new.py", "--old", tmp_path, "--rows", "one-sgc"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "a version must be a folder with src/grande_gnn" in done.stderr
