"""The benchmarks of audits, suggestions and tuned systems run at small sizes, and go on where they stopped."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def data(tmp_path):
    """A folder with one small set: three groups of samples in file order."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 60)
    features = 3 * np.eye(3)[labels] + rng.normal(size=(180, 3))
    (tmp_path / "small").mkdir()
    files = np.array([f"{i}.jpg" for i in range(180)])
    np.savez(
        tmp_path / "small" / "features_made.npz",
        features=features.astype(np.float32),
        labels=labels,
        files=files,
    )
    return tmp_path


def run(script, *arguments):
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_suggestions_are_measured_for_every_budget_and_resumed(data):
    out = data / "suggest.csv"
    options = ("--data", data, "--sets", "small", "--model", "sgc", "--out", out)
    run("suggest.py", *options, "--seeds", 1, "--strategies", "random", "graph-coverage")
    first = rows_of(out)
    assert [(row["strategy"], row["budget"]) for row in first] == [
        (strategy, budget) for budget in "1248" for strategy in ("random", "graph-coverage")
    ]
    assert [int(row["labels"]) for row in first[::2]] == [3, 6, 12, 24]
    said = run("suggest.py", *options, "--seeds", 2, "--strategies", "random", "graph-coverage")
    assert rows_of(out)[:8] == first
    assert len(rows_of(out)) == 16
    assert "| small | graph-coverage | grande |" in said
    run("suggest.py", *options, "--model", "committee", "--seeds", 1, "--strategies", "useful")
    assert [row["model"] for row in rows_of(out)] == ["sgc"] * 16 + ["committee"] * 4
    assert float(rows_of(out)[-1]["grande"]) > 70  # a third by chance


@pytest.mark.slow
def test_a_tuned_system_is_chosen_by_hidden_labels_and_written_into_the_page(data):
    out, page = data / "tuned.csv", data / "page.md"
    page.write_text(
        "before\n<!-- tuned: benchmarks/tuned_systems.py -->\nstale\n<!-- tuned: end -->\nafter\n"
    )
    options = ("--data", data, "--sets", "small", "--systems", "knn", "ridge", "--out", out)
    run("tuned_systems.py", *options, "--folds", 2, "--docs", page)
    tried = rows_of(data / "tuned_candidates.csv")
    assert len(tried) == 2 * 2 * 12
    for row in rows_of(out):
        own = [t for t in tried if (t["system"], t["fold"]) == (row["system"], row["fold"])]
        assert float(row["inner_accuracy"]) == max(float(t["inner_accuracy"]) for t in own)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| `ridge` |" in text
    assert "stale" not in text
    before = rows_of(out)
    run("tuned_systems.py", "--out", out, "--docs", page)  # nothing is measured
    assert rows_of(out) == before


@pytest.mark.slow
def test_audits_hold_the_truth(tmp_path):
    out, labellings = tmp_path / "audit.csv", tmp_path / "labellings.csv"
    with labellings.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["set", "case", "labels", "truth", "value"])
        writer.writerows([["flowers17", "r4", 68, 80, 85], ["flowers17", "r4", 68, 75, 60]])
        writer.writerow(["flowers17", "t4", 68, 10, 90])  # another kind of labels
    options = ("--labellings", labellings, "--sets", "flowers17", "--audits", 500, "--last", 60, "--out", out)
    run("audit.py", *options)
    rows = {(row["forecast"] != "", row["rule"]): row for row in rows_of(out)}
    for knows in (False, True):
        assert float(rows[knows, "ever"]["held"]) >= 0.93
        assert 1 < float(rows[knows, "n = 30"]["ratio"]) < 2
        assert float(rows[knows, "n = 60"]["accuracy"]) == pytest.approx(0.775, abs=1e-3)
        assert int(rows[knows, "n = 60"]["audits"]) == 500
