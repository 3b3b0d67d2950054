"""Copies in class folders: every image once, and no label leads out of the folder."""

import os

import numpy as np
import pytest

from grande_gnn.errors import OutputExistsError
from grande_gnn.labelling.exports.class_folders import copy_to_class_folders, folder_name, folder_names
from grande_gnn.labelling.result import Labelling


def labelling(files, labels):
    n = len(files)
    nothing = np.zeros(n, dtype=bool)
    return Labelling(files, labels, np.full(n, 0.5), [""] * n, np.zeros(n), [""] * n, nothing, nothing)


def images(root, files):
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(file, encoding="utf-8", errors="surrogateescape")


def test_names_that_collide_are_numbered(tmp_path):
    files = ["a/b.jpg", "a_b.jpg", "A_B.jpg", "c.jpg"]
    images(tmp_path / "photos", files)
    result = labelling(files, ["cat", "cat", "cat", "dog"])
    assert copy_to_class_folders(tmp_path / "out", result, tmp_path / "photos") == 4
    copies = {path.name: path.read_text() for path in (tmp_path / "out").rglob("*.jpg")}
    assert copies == {"a_b.jpg": "a/b.jpg", "a_b_2.jpg": "a_b.jpg", "A_B_3.jpg": "A_B.jpg", "c.jpg": "c.jpg"}


def test_a_folder_with_files_is_refused(tmp_path):
    images(tmp_path / "photos", ["a.jpg"])
    with pytest.raises(OutputExistsError, match="new or empty"):
        copy_to_class_folders(tmp_path / "photos", labelling(["a.jpg"], ["cat"]), tmp_path / "photos")


@pytest.mark.parametrize("label", ["../../etc", "a/b", ".hidden", 'x:"y"?', ""])
def test_a_label_never_leaves_the_folder(label):
    name = folder_name(label)
    assert "/" not in name
    assert name not in ("", ".", "..")
    assert not name.startswith(".")


@pytest.mark.parametrize("exists", [False, True])
def test_the_folder_appears_complete_or_not_at_all(tmp_path, monkeypatch, exists):
    """As after a kill at any moment: whatever is renamed into place is the whole folder."""
    files = [f"{i}.jpg" for i in range(6)]
    images(tmp_path / "photos", files)
    result = labelling(files, ["cat", "dog", "bird"] * 2)
    out = tmp_path / "copies"
    if exists:
        out.mkdir()
    moved = []

    def rename(source, target):
        assert not any(out.rglob("*"))
        moved.append((source, target))
        move(source, target)

    move = os.rename
    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "replace", lambda *_: pytest.fail("entries are moved one by one"))
    copy_to_class_folders(out, result, tmp_path / "photos")
    assert [target for _, target in moved] == [out]
    assert sorted(path.name for path in out.rglob("*.jpg")) == files
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copies", "photos"]
    assert out.stat().st_mode & 0o777 == (tmp_path / "photos").stat().st_mode & 0o777


def test_different_labels_have_different_folders(tmp_path):
    labels = ["a/b", "a_b", "A_B", "a:b", "x" * 300, "x" * 301]
    files = [f"{i}.jpg" for i in range(6)]
    images(tmp_path / "photos", files)
    copy_to_class_folders(tmp_path / "out", labelling(files, labels), tmp_path / "photos")
    folders = {path.name: [file.name for file in path.iterdir()] for path in (tmp_path / "out").iterdir()}
    assert sorted(folders.values()) == [[file] for file in files]
    assert len({name.casefold() for name in folders}) == 6
    assert folder_names(labels) == {**folder_names(labels[::-1])}  # whatever their order


@pytest.mark.parametrize("letter", ["x", "é", "花"])
def test_a_long_path_becomes_a_name_that_a_file_system_takes(tmp_path, letter):
    long = letter * (230 // len(letter.encode()))
    files = [f"{long}/{long}.jpg", f"{long}/{long}x.jpg"]
    images(tmp_path / "photos", files)
    copy_to_class_folders(tmp_path / "out", labelling(files, ["cat", "cat"]), tmp_path / "photos")
    copies = sorted((tmp_path / "out" / "cat").iterdir())
    assert [path.suffix for path in copies] == [".jpg", ".jpg"]
    assert {path.read_text() for path in copies} == set(files)
