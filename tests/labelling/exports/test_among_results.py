"""Numbers of classes last from export to export, and nothing of the user's is replaced."""

import json
from dataclasses import replace

from grande_gnn.labelling.decisions import Decision, Journal
from grande_gnn.labelling.exports import EXPORTS
from grande_gnn.labelling.exports.among_results import earlier_exports


def test_numbers_stay_when_classes_come_and_go(hostile, tmp_path):
    out = tmp_path / "out"
    hostile.save(out, export="csv")
    changed = replace(hostile, labels=["ant", "dog", "dog", "dog", "dog", "dog", "bee", "=2"])
    changed.save(out, overwrite=True)  # without an export the numbers are kept
    changed.save(out, overwrite=True, export="coco")
    ids = {c["name"]: c["id"] for c in json.loads((out / "classes.json").read_text())["classes"]}
    assert ids == {"../etc": 0, "<b>": 1, "=2": 2, "cat": 3, "dog": 4, "ant": 5, "bee": 6}
    assert not (out / EXPORTS["csv"].entry).exists()  # its labels would be those of before


def test_a_class_that_a_review_renamed_keeps_its_number(hostile, tmp_path):
    out = tmp_path / "out"
    hostile.save(out, export="csv")
    Journal(out).append(Decision("rename", (), "tiger", old="cat"))
    labels = ["tiger" if label == "cat" else label for label in hostile.labels]
    replace(hostile, labels=labels).save(out, overwrite=True, export="csv")
    ids = {c["name"]: c["id"] for c in json.loads((out / "classes.json").read_text())["classes"]}
    assert ids["tiger"] == 3
    assert "cat" not in ids


def test_files_of_the_user_that_are_called_like_an_export_stay(hostile, tmp_path):
    out = tmp_path / "out"
    hostile.save(out, export="label-studio")
    (out / "coco.json").write_text("mine")
    hostile.save(out, overwrite=True, export="csv")
    assert (out / "coco.json").read_text() == "mine"
    assert not (out / "label-studio.json").exists()


def test_the_formats_of_a_result_are_written_down(hostile, tmp_path):
    assert earlier_exports(tmp_path) == []
    hostile.save(tmp_path / "out", export=["coco", "csv"])
    assert earlier_exports(tmp_path / "out") == ["coco", "csv"]
    hostile.save(tmp_path / "out", overwrite=True)
    assert earlier_exports(tmp_path / "out") == ["label-studio"]
    assert not (tmp_path / "out" / "coco.json").exists()
