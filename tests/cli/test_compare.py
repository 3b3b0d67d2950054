"""``grande compare``: a table for people, JSON for programs, rows for going on."""

import json

import numpy as np
from click.testing import CliRunner

from grande_gnn.cli.main import main


def run(*arguments):
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def test_json_has_one_object_per_line(features_file):
    result = run(features_file, "--systems", "knn, opf,comatch", "--folds", "4", "--json")
    assert result.exit_code == 0
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert [row["system"] for row in rows] == ["knn", "opf", "comatch"]
    assert 50 < rows[0]["accuracy_mean"] <= 100
    assert rows[0]["folds"] == 4
    assert "--images" in rows[2]["error"]


def test_the_systems_are_listed_without_a_file():
    from grande_gnn.baselines import SYSTEMS

    lines = run("--list").output.splitlines()
    assert [line.split()[0] for line in lines] == list(SYSTEMS)
    assert all(len(line.split()) > 2 for line in lines)


def test_the_table_is_for_people(features_file):
    result = run(features_file, "--systems", "svm,grande", "--folds", "2", "--device", "cpu")
    assert result.exit_code == 0
    header, *lines = result.output.splitlines()
    assert header.split()[:3] == ["system", "model", "accuracy"]
    assert [line.split()[0] for line in lines] == ["grande", "grande", "svm"]
    assert "±" in lines[2]
    assert "[" in lines[2]
    assert lines[2].split()[-1] == "-9"


def test_a_wrong_name_is_one_sentence(features_file):
    result = run(features_file, "--systems", "vgg")
    assert result.exit_code == 1
    assert result.output.startswith("Error: a system must be one of svm, opf,")
    assert "Traceback" not in result.output


def test_unlabelled_features_are_refused(tmp_path):
    np.savez(tmp_path / "features.npz", features=np.eye(4))
    result = run(str(tmp_path / "features.npz"))
    assert result.exit_code == 1
    assert "labels" in result.output


def test_with_an_output_folder_a_comparison_is_resumed(features_file, tmp_path, monkeypatch):
    command = [
        features_file,
        "--systems",
        "grande,knn",
        "--folds",
        "2",
        "--device",
        "cpu",
        "--json",
        "-o",
        tmp_path / "out",
    ]
    first = run(*command)
    assert first.exit_code == 0, first.output
    assert len((tmp_path / "out" / "rows.jsonl").read_text().splitlines()) == 6
    monkeypatch.setattr("grande_gnn.classifier.problem.LearningProblem.train", None)
    again = run(*command)
    results = [[json.loads(line) for line in result.output.splitlines()] for result in (first, again)]
    for before, after in zip(*results, strict=True):
        assert {**before, "seconds": 0} == {**after, "seconds": 0}
    assert [row["system"] for row in results[1]] == ["grande", "grande", "knn"]


def test_without_an_output_folder_nothing_is_written(features_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert run(features_file, "--systems", "knn", "--folds", "2").exit_code == 0
    assert sorted(tmp_path.iterdir()) == before
