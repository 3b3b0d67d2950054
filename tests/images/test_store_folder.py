"""What lies in the folder of the store: only files of this package are listed, and only they are removed."""

import os

import numpy as np
import pytest

from grande_gnn.images.store import FeatureStore, StoredImage
from grande_gnn.images.store_folder import clear_entries, list_entries
from grande_gnn.internal.abandoned import temporary_file


@pytest.fixture
def folder(tmp_path):
    """Two stores, one with two images, an adapted network with a checkpoint, a damaged store, and a stranger's files."""
    rows = [StoredImage(bytes([n]) * 20, b"thumb", np.ones(3, np.float32)) for n in (1, 2)]
    FeatureStore(tmp_path, "lite0-abc").add(rows)
    FeatureStore(tmp_path, "pixels")
    for end in ("safetensors", "checkpoint"):
        (tmp_path / f"adapted-0123456789abcdef.{end}").write_bytes(b"12345")
    with temporary_file(tmp_path / "adapted-0123456789abcdef.checkpoint") as (handle, _):
        os.write(handle, b"123")  # what a killed process leaves
    (tmp_path / "lite0-abc.sqlite.corrupt-1").write_bytes(b"123")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "adapted-mine.safetensors").write_text("mine")
    (tmp_path / "folder.sqlite").mkdir()
    return tmp_path


def test_entries_have_kind_size_and_images(folder):
    found = {(e.kind, e.name): e for e in list_entries(folder)}
    assert set(found) == {
        ("features", "lite0-abc"),
        ("features", "pixels"),
        ("adapted network", "adapted-0123456789abcdef"),
        ("damaged store", "lite0-abc"),
    }
    assert found["features", "lite0-abc"].n_images == 2
    assert found["features", "pixels"].n_images == 0
    adapted = found["adapted network", "adapted-0123456789abcdef"]
    assert (adapted.n_bytes, adapted.n_images, len(adapted.files)) == (13, None, 3)
    assert found["features", "lite0-abc"].n_bytes == (folder / "lite0-abc.sqlite").stat().st_size


def test_clearing_removes_them_and_nothing_else(folder):
    entries = list_entries(folder)
    assert clear_entries(entries) == sum(e.n_bytes for e in entries)
    assert {p.name for p in folder.iterdir()} == {"notes.txt", "adapted-mine.safetensors", "folder.sqlite"}
    assert list_entries(folder) == []
    clear_entries(entries)  # already gone: nothing is missed


def test_a_store_that_cannot_be_read_is_listed_and_left_as_it_is(folder):
    path = folder / "pixels.sqlite"
    path.write_bytes(b"no database" * 100)
    (entry,) = [e for e in list_entries(folder) if e.name == "pixels"]
    assert entry.n_images is None
    assert path.read_bytes() == b"no database" * 100  # set aside only by a run that uses it


def test_links_are_not_followed(folder, tmp_path_factory):
    target = tmp_path_factory.mktemp("elsewhere") / "other.sqlite"
    target.write_bytes(b"x")
    (folder / "linked.sqlite").symlink_to(target)
    assert "linked" not in {e.name for e in list_entries(folder)}


def test_an_absent_folder_holds_nothing(tmp_path):
    assert list_entries(tmp_path / "absent") == []


def test_the_folder_is_the_one_of_the_environment(folder, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(folder))
    assert list_entries() == list_entries(folder)
