"""Tasks name every image and keep given labels apart from predictions."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.exports.label_studio import write_label_studio
from grande_gnn.labelling.result import Labelling


def labelling(files, labels):
    n = len(files)
    nothing = np.zeros(n, dtype=bool)
    return Labelling(files, labels, np.full(n, 0.5), [""] * n, np.zeros(n), [""] * n, nothing, nothing)


def images(root, files):
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(file, encoding="utf-8", errors="surrogateescape")


def test_label_studio_takes_the_folder_of_the_labelling(tmp_path):
    images(tmp_path, ["a.jpg"])
    result = labelling(["a.jpg"], ["cat"])
    with pytest.raises(InvalidInputError, match="or give their folder as root; got none"):
        write_label_studio(tmp_path / "tasks.json", result)
    write_label_studio(tmp_path / "tasks.json", replace(result, root=tmp_path))
    (task,) = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert task["data"]["file"] == "a.jpg"


def test_label_studio_names_a_file_that_is_not_utf_8(tmp_path):
    file = os.fsdecode(b"caf\xe9 1.jpg")
    images(tmp_path, [file])
    write_label_studio(tmp_path / "tasks.json", labelling([file], ["cat"]), tmp_path)
    (task,) = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert task["data"]["image"].endswith("caf%E9%201.jpg")
    assert task["predictions"][0]["score"] == 0.5


def test_given_labels_are_annotations_and_no_label_is_no_prediction(hostile, tmp_path):
    write_label_studio(tmp_path / "tasks.json", hostile)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert [task["data"]["file"] for task in tasks] == hostile.files
    assert ["annotations" in task for task in tasks] == [True, True, *[False] * 6]
    assert ["predictions" in task for task in tasks] == [bool(label) for label in hostile.labels]
    assert tasks[2]["predictions"][0]["result"][0]["value"] == {"choices": ["../etc"]}
