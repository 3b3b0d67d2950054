"""The scripts that measure the table of systems, on data small enough to run here."""

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(script, monkeypatch, *arguments):
    monkeypatch.syspath_prepend(BENCHMARKS)
    spec = importlib.util.spec_from_file_location(f"benchmark_{script}", BENCHMARKS / f"{script}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
    module.main()


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_grows_piece_by_piece(features_file, tmp_path, monkeypatch):
    table = tmp_path / "table.csv"
    run("systems", monkeypatch, features_file, "--csv", table, "--systems", "knn")
    first = read(table)[0]
    assert first["difference"] == ""
    run("systems", monkeypatch, features_file, "--csv", table, "--systems", "knn,grande")
    rows = read(table)
    assert [row["system"] for row in rows] == ["grande", "grande", "knn"]
    assert rows[2]["fold_accuracies"] == first["fold_accuracies"]
    best = max(float(row["accuracy_mean"]) for row in rows[:2])
    assert float(rows[2]["difference"]) == pytest.approx(float(rows[2]["accuracy_mean"]) - best, abs=1e-3)


def test_folds_measured_elsewhere_join_the_table(features_file, tmp_path, monkeypatch):
    folds, table = tmp_path / "folds.csv", tmp_path / "table.csv"
    arguments = ["--csv", folds, "--systems", "gnn-lds", "--rounds", "1", "--device", "cpu"]
    joins = ["--csv", table, "--systems", "", "--folds-csv", folds]
    run("accelerator_systems", monkeypatch, features_file, *arguments, "--folds", "0", "1")
    with pytest.raises(SystemExit, match=r"needs each of its 10 folds once.*got folds 0, 1"):
        run("systems", monkeypatch, features_file, *joins)
    run("accelerator_systems", monkeypatch, features_file, *arguments, "--folds", *map(str, range(2, 10)))
    measured = read(folds)
    assert [row["fold"] for row in measured] == [str(fold) for fold in range(10)]
    run("systems", monkeypatch, features_file, *joins)
    (row,) = read(table)
    assert row["system"] == "gnn-lds"
    mean = np.mean([float(fold["accuracy"]) for fold in measured])
    assert float(row["accuracy_mean"]) == pytest.approx(mean, abs=1e-3)


def test_chains_of_the_forest_are_counted(features_file, tmp_path, monkeypatch):
    table = tmp_path / "chains.csv"
    run("opf_chains", monkeypatch, features_file, "--csv", table)
    *steps, whole = read(table)
    assert whole["steps"] == "all"
    shares = [float(row["share"]) for row in steps]
    assert sum(shares) == pytest.approx(1.0)
    weighted = sum(share * float(row["accuracy"]) for share, row in zip(shares, steps, strict=True))
    assert weighted == pytest.approx(float(whole["accuracy"]))
