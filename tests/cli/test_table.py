"""``grande table`` as a user calls it."""

import csv
import json

import pytest


def test_table_1_from_nothing_to_files_and_again(data, tmp_path, grande, fast):
    out = tmp_path / "new" / "out"
    first = grande("table", 1, "--data", data, "-o", out, *fast)
    assert first.exit_code == 0, first.output
    assert "| APPNP | own* | a |" in first.stdout
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 2 * (11 * 3 + 10 * 3 * 3)
    with (out / "table1.csv").open() as file:
        assert {row["gnn"] for row in csv.DictReader(file)} == {"APPNP", "SGC"}
    assert (out / "table1.tex").read_text().count(r"\\") > 3
    again = grande("table", 1, "--data", data, "-o", out, *fast)
    assert f"{len(rows)} trials, {len(rows)} of them finished before" in again.stderr
    assert again.stdout == first.stdout


def test_table_2_and_3_share_rows_with_table_1(data, tmp_path, grande, fast):
    out = tmp_path / "out"
    options = ["--data", data, "-o", out, *fast]
    assert grande("table", 1, *options, "--inner-folds", 0).exit_code == 0
    second = grande("table", 2, *options)
    assert second.exit_code == 0, second.output
    assert "from 128 to 256 neurons" in second.stdout
    systems = ["grande", "dgcg", "svm", "knn"]
    third = grande("table", 3, *options, *(word for name in systems for word in ("--systems", name)))
    assert third.exit_code == 0, third.output
    assert "18 trials, 9 of them finished before" in third.stderr
    assert "GRaNDe minus system" in third.stdout
    assert {path.name for path in out.iterdir()} == {
        "rows.jsonl",
        *(
            f"{name}.{end}"
            for name in ("table1", "table2", "table3", "table3-pairs")
            for end in ("md", "csv", "tex")
        ),
    }


@pytest.mark.parametrize("per_class", [3, 7])
def test_classes_too_small_for_the_nested_sigma_cost_nothing_else(
    data, tmp_path, per_class, grande, fast, save_features
):
    """Three folds leave 1, or 2 to 3, labels per class; the other dataset has 3 and keeps its nested-CV σ."""
    save_features(data / "small" / "features_a.npz", per_class=per_class)
    options = ["table", 1, "--data", data, "-o", tmp_path / "out", *fast]
    first = grande(*options)
    assert first.exit_code == 0, first.output
    for text in (first.stderr, first.stdout):
        assert "small/a: best σ (in the training fold) is left out" in text
        assert "own/a: best σ" not in text
    with (tmp_path / "out" / "table1.csv").open() as file:
        for row in csv.DictReader(file):
            assert all(row[name] for name in ("centrality", "grande", "best", "gain", "difference"))
            assert bool(row["honest"]) == (row["dataset"] == "own*")
    rows = (tmp_path / "out" / "rows.jsonl").read_text()
    assert "NaN" not in rows
    assert grande(*options).stdout == first.stdout
    assert (tmp_path / "out" / "rows.jsonl").read_text() == rows


def test_rows_of_a_run_that_measured_nothing_do_not_spoil_the_next(data, tmp_path, grande, fast):
    """Earlier versions wrote NaN for parts without samples, and failures for those they could not train."""
    path = tmp_path / "out" / "rows.jsonl"
    options = ["table", 1, "--data", data, "-o", path.parent, *fast]
    assert grande(*options).exit_code == 0
    old = [json.loads(line) for line in path.read_text().splitlines()]
    for row in old:
        if row["inner"] is not None:
            row["inner_folds"] = 4
            row |= (
                {"accuracy": float("nan")} if row["inner"] else {"accuracy": None, "error": "ValueError: no"}
            )
    path.write_text("".join(json.dumps(row) + "\n" for row in old))
    result = grande(*options, "--inner-folds", 4)
    assert result.exit_code == 0, result.output
    assert "66 trials, 66 of them finished before" in result.stderr
    assert "Failed" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "nowhere"], "are own; got 'nowhere'"),
        (["--features", "resnet152"], "grande extract"),
        (["--folds", "10"], "got folds=10"),
        (["--sigma", "0"], "sigma must be a positive number"),
        (["--beside", "a=ResNet50"], "--beside takes NAME=COLUMN"),
        (["--lr", "0"], "lr must be"),
    ],
)
def test_bad_plans_are_one_sentence(data, tmp_path, arguments, message, grande, fast):
    result = grande("table", 1, "--data", data, "-o", tmp_path / "out", *fast, *arguments)
    assert result.exit_code == 1
    sentence = result.stderr.strip().splitlines()[-1]
    assert sentence.startswith("Error: ")
    assert message in sentence
    assert not list((tmp_path / "out").glob("table*"))


def test_an_unknown_system_is_one_sentence(data, tmp_path, grande, fast):
    result = grande("table", 3, "--data", data, "-o", tmp_path / "out", *fast, "--systems", "xgboost")
    assert result.exit_code == 1
    assert "got 'xgboost'" in result.stderr


def test_a_missing_data_folder_is_one_sentence(tmp_path, grande):
    result = grande("table", 1, "--data", tmp_path / "no", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "got none in" in result.stderr


def test_wrong_classes_of_a_known_dataset(tmp_path, grande, fast, save_features):
    save_features(tmp_path / "data" / "flowers17" / "features_a.npz")
    result = grande("table", 1, "--data", tmp_path / "data", "-o", tmp_path / "out", *fast)
    assert result.exit_code == 1
    assert "Flowers17 has 17 classes" in result.stderr


def test_changed_features_are_not_mixed_with_old_rows(data, tmp_path, grande, fast, save_features):
    options = ["table", 1, "--data", data, "-o", tmp_path / "out", *fast, "--inner-folds", 0]
    assert grande(*options).exit_code == 0
    before = (tmp_path / "out" / "rows.jsonl").read_bytes()
    save_features(data / "own" / "features_a.npz", seed=1)
    result = grande(*options)
    assert result.exit_code == 1
    assert "never mixed with new data" in result.stderr
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == before


def test_failed_trials_are_reported_and_counted_in_the_exit_status(data, tmp_path, monkeypatch, grande, fast):
    monkeypatch.setattr("grande_gnn.classifier.problem.LearningProblem.train", None)
    result = grande("table", 1, "--data", data, "-o", tmp_path / "out", *fast)
    assert result.exit_code == 1
    assert "246 trials failed" in result.stderr
    assert "Failed: grande: TypeError" in result.stdout


def test_help_names_the_tables(grande):
    result = grande("table", "--help")
    assert result.exit_code == 0
    assert "degree centrality against GRaNDe" in result.output
