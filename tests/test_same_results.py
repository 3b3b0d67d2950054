"""What version 0.1 wrote still loads, and what it computed is computed again (tests/data/version_0_1)."""

import csv
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from grande_gnn import GrandeClassifier
from grande_gnn.cli import main
from grande_gnn.labelling import Labelling

OLD = Path(__file__).parent / "data" / "version_0_1"
MODELS = sorted(path.name for path in (OLD / "models").iterdir() if path.is_dir())
ROUNDED = 1.5e-4
"""predictions.csv has four decimals, and another processor may round the last one the other way."""

LABEL = ("--extractor", "pixels", "--model", "sgc", "--neighbors", 8, "--export", "label-studio")
CHOSEN = ("--graph", "dgcg", "--normalize", "center-l2", "--sigma", 0.2)
"""What version 0.1 chose automatically for these images."""
TABLE = (
    "--folds", 3, "--repeats", 1, "--epochs", 20, "--neighbors", 5, "--inner-folds", 2, "--models", "sgc",
    "--device", "cpu",
)  # fmt: skip
SYSTEMS = ("svm", "knn", "ls+knn", "dgcg", "grande")
TABLES = {1: (), 3: tuple(word for name in SYSTEMS for word in ("--systems", name))}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def photos(tmp_path):
    """A copy of the images: nothing is ever written into the committed folder."""
    shutil.copytree(OLD / "labelling" / "photos", tmp_path / "photos")
    return tmp_path / "photos"


def grande(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# -- models ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers():
    with np.load(OLD / "models" / "answers.npz") as archive:
        return dict(archive)


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_loads_and_gives_the_same_answers(name, answers):
    clf = GrandeClassifier.load(OLD / "models" / name)
    assert clf.classes_.tolist() == ["ash", "beech", "cedar"]
    assert np.array_equal(clf.transduction_, answers[f"{name}.transduction"])
    assert np.array_equal(clf.label_distributions_, answers[f"{name}.label_distributions"])
    assert np.array_equal(clf.degree_, answers[f"{name}.degree"])
    assert np.array_equal(clf.predict(answers["features"]), answers[f"{name}.transduction"])
    assert np.array_equal(clf.predict(answers["new"]), answers[f"{name}.predictions"])
    probabilities = clf.predict_proba(answers["new"])
    np.testing.assert_allclose(probabilities, answers[f"{name}.probabilities"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_is_saved_again_with_the_same_answers(name, answers, tmp_path):
    GrandeClassifier.load(OLD / "models" / name).save(tmp_path / "again")
    clf = GrandeClassifier.load(tmp_path / "again")
    assert np.array_equal(clf.transduction_, answers[f"{name}.transduction"])
    assert np.array_equal(clf.predict(answers["new"]), answers[f"{name}.predictions"])


@pytest.mark.parametrize("name", MODELS)
def test_the_same_samples_are_fitted_to_the_same_answers(name, answers):
    old = GrandeClassifier.load(OLD / "models" / name)
    settings = old.get_params() | asdict(old.choice_)  # what "auto" chose in 0.1, written out
    clf = GrandeClassifier(**settings).fit(answers["features"], answers["given"])
    assert np.array_equal(clf.transduction_, answers[f"{name}.transduction"])
    expected = answers[f"{name}.label_distributions"]
    np.testing.assert_allclose(clf.label_distributions_, expected, rtol=0, atol=1e-5)
    assert np.array_equal(clf.predict(answers["new"]), answers[f"{name}.predictions"])


# -- the folder of a labelling --------------------------------------------------------------------------


def assert_same_predictions(path, expected):
    rows, old = rows_of(path), rows_of(expected)
    numbers = ("confidence", "margin")
    names = [name for name in old[0] if name not in numbers]
    assert [[row[name] for name in names] for row in rows] == [[row[name] for name in names] for row in old]
    for name in numbers:
        values, old_values = ([float(row[name]) for row in table] for table in (rows, old))
        np.testing.assert_allclose(values, old_values, rtol=0, atol=ROUNDED)


def test_a_labelling_repeated_gives_the_same_files(photos, tmp_path):
    out, old = tmp_path / "out", OLD / "labelling" / "out"
    grande("label", photos, "-o", out, *LABEL, *CHOSEN, "--workers", 0, "--device", "cpu")
    assert {path.name for path in out.iterdir()} >= {path.name for path in old.iterdir()}
    rows, old_rows = (rows_of(folder / "predictions.csv") for folder in (out, old))
    for name in ("file", "label", "given_label"):
        assert [row[name] for row in rows] == [row[name] for row in old_rows]
    new, old_new = (
        [row["runner_up"] for row in table if not row["given_label"]] for table in (rows, old_rows)
    )
    assert new == old_new  # confidences are computed in another way since then
    problems, old_problems = (rows_of(folder / "problems.csv") for folder in (out, old))
    assert [list(row) for row in problems] == [list(row) for row in old_problems]  # the words may change
    assert [row["file"] for row in problems] == [row["file"] for row in old_problems]
    settings, old_settings = (json.loads((folder / "settings.json").read_text()) for folder in (out, old))
    for name in ("version", "temperature", "offset"):
        del old_settings[name]
    assert old_settings.items() <= settings.items()
    tasks, old_tasks = (json.loads((folder / "label-studio.json").read_text()) for folder in (out, old))
    assert len(tasks) == len(old_tasks)


def test_an_old_folder_loads_and_is_saved_again(tmp_path):
    old = OLD / "labelling" / "out"
    result = Labelling.load(old)
    assert [row["label"] for row in rows_of(old / "predictions.csv")] == result.labels
    assert result.settings["weights"] == json.loads((old / "settings.json").read_text())["weights"]
    assert result.flags().count("suspicious_label") == 1
    assert [problem.file for problem in result.problems] == ["broken.jpg"]
    result.save(tmp_path / "again")
    again = tmp_path / "again" / "predictions.csv"
    assert again.read_bytes() == (old / "predictions.csv").read_bytes()
    assert Labelling.load(tmp_path / "again").labels == result.labels


def test_new_images_are_labelled_with_the_model_of_an_old_folder(tmp_path):
    shutil.copytree(OLD / "labelling" / "new_photos", tmp_path / "new")
    earlier = OLD / "labelling" / "out"
    grande("label", tmp_path / "new", "-o", tmp_path / "out", "--reuse", earlier, "--workers", 0)
    assert_same_predictions(tmp_path / "out" / "predictions.csv", OLD / "labelling" / "new_predictions.csv")


def test_an_old_folder_is_overwritten_by_a_new_result(photos, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(OLD / "labelling" / "out", out)
    options = ("--extractor", "pixels", "--paper", "--workers", 0, "--device", "cpu")
    grande("label", photos, "-o", out, *options, "--model", "sgc", "--overwrite")
    assert json.loads((out / "settings.json").read_text())["n_neighbors"] == 40
    assert not (out / "label-studio.json").exists()


# -- rows of trials -------------------------------------------------------------------------------------


def trials_of(path):
    """The accuracy of each trial; what belongs to the run and not to the trial is left out."""
    found = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        accuracy, n_test = row.pop("accuracy"), row.pop("n_test")
        for name in ("seconds", "environment", "error"):
            del row[name]
        found[json.dumps(row, sort_keys=True)] = (accuracy, n_test)
    return found


def cells(path, number):
    """The cells of a CSV; versions of scipy differ in the eighth digit of an interval or a p-value."""
    with path.open(encoding="utf-8", newline="") as file:
        return [[_number_or_text(cell, number) for cell in row] for row in csv.reader(file)]


def _number_or_text(cell, number):
    try:
        return number(cell)
    except ValueError:
        return cell


@pytest.mark.parametrize("number", TABLES)
def test_finished_rows_are_skipped(number, tmp_path):
    out, old = tmp_path / "out", OLD / "table" / "out"
    shutil.copytree(old, out)
    grande("table", number, "--data", OLD / "table" / "data", "-o", out, *TABLE, *TABLES[number])
    assert (out / "rows.jsonl").read_bytes() == (old / "rows.jsonl").read_bytes()
    for name in (f"table{number}.csv", "table3-pairs.csv"):
        assert cells(out / name, float) == cells(
            old / name, lambda cell: pytest.approx(float(cell), rel=1e-6)
        )


def test_a_table_computed_again_has_the_same_rows(tmp_path):
    out = tmp_path / "out"
    for number, options in TABLES.items():
        grande("table", number, "--data", OLD / "table" / "data", "-o", out, *TABLE, *options)
    assert trials_of(out / "rows.jsonl") == trials_of(OLD / "table" / "out" / "rows.jsonl")
