"""The long benchmarks run at small sizes, and go on where they stopped."""

import csv
import subprocess
import sys
from pathlib import Path

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
