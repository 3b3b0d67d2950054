"""Files are whole or absent, and outputs are not overwritten unasked."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError, OutputExistsError
from grande_gnn.internal.files import (
    check_output,
    copy_whole,
    naming,
    write_atomically,
    write_folder,
    write_new_folder,
)


def test_errors_name_the_file():
    with pytest.raises(FileFormatError, match=r"^f\.npz: too wide; got 3$"), naming("f.npz"):
        raise InvalidInputError("too wide; got 3")


# -- writing ------------------------------------------------------------------------------------------


def test_an_output_is_not_overwritten_unasked(tmp_path):
    target = tmp_path / "out.csv"
    assert check_output(target) == target
    target.write_text("mine")
    with pytest.raises(OutputExistsError, match=r"the output exists.*; got .*out.csv"):
        check_output(target)
    assert check_output(target, overwrite=True) == target
    assert target.read_text() == "mine"
    with pytest.raises(InvalidInputError, match="folder of the output does not exist"):
        check_output(tmp_path / "nowhere" / "out.csv")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "f.npz"
    target.write_text("old")

    def fail(file):
        file.write(b"half of it")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_atomically(target, fail)
    assert os.listdir(tmp_path) == ["f.npz"]
    assert target.read_text() == "old"
    target.unlink()
    with pytest.raises(KeyboardInterrupt):
        write_atomically(target, lambda file: (_ for _ in ()).throw(KeyboardInterrupt))
    assert os.listdir(tmp_path) == []


def test_a_file_that_a_killed_process_left_is_removed_by_the_next_one(tmp_path):
    (tmp_path / ".f.npz.abcd1234.part").write_text("half")
    (tmp_path / ".other.npz.abcd1234.part").write_text("of another file")
    write_atomically(tmp_path / "f.npz", lambda file: file.write(b"x"))
    assert sorted(os.listdir(tmp_path)) == [".other.npz.abcd1234.part", "f.npz"]


def test_a_folder_in_the_place_of_a_file_is_one_sentence(tmp_path):
    (tmp_path / "f").mkdir()
    with pytest.raises(InvalidInputError, match="it is a folder: name a file; got"):
        write_atomically(tmp_path / "f", lambda file: file.write(b"x"))


def test_a_written_file_has_ordinary_permissions(tmp_path):
    write_atomically(tmp_path / "f", lambda file: file.write(b"x"))
    (tmp_path / "plain").write_bytes(b"x")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert (tmp_path / "f").read_bytes() == b"x"


# -- folders --------------------------------------------------------------------------------------------

ENTRIES = ("mark", "one", "two")


def filler(text, names=ENTRIES):
    def fill(part):
        for name in names:
            (part / name).write_text(text)

    return fill


def content(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_created_and_replaced_without_touching_other_files(tmp_path):
    folder = tmp_path / "folder"
    write_folder(folder, filler("old"), ENTRIES)
    (folder / "mine").write_text("mine")
    write_folder(folder, filler("new", ("mark", "one")), ENTRIES, overwrite=True)
    assert content(folder) == {"mark": "new", "one": "new", "mine": "mine"}


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    write_folder(tmp_path / "link", filler("new"), ENTRIES)
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "folder") == dict.fromkeys(ENTRIES, "new")


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_that_is_not_filled_is_as_it_was(tmp_path, exists):
    folder = tmp_path / "folder"
    if exists:
        write_folder(folder, filler("old"), ENTRIES)

    def fail(part):
        (part / "one").write_text("new")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_folder(folder, fail, ENTRIES, overwrite=True)
    assert folder.exists() == exists
    if exists:
        assert content(folder) == dict.fromkeys(ENTRIES, "old")


def test_existing_entries_are_not_replaced_unasked(tmp_path):
    folder = tmp_path / "folder"
    write_folder(folder, filler("old"), ENTRIES)
    with pytest.raises(FileExistsError, match="mark, which was not there before"):
        write_folder(folder, filler("new"), ENTRIES)
    assert content(folder) == dict.fromkeys(ENTRIES, "old")


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("at", ENTRIES)
def test_a_move_that_fails_is_undone(tmp_path, monkeypatch, at, keep):
    folder, replace = tmp_path / "folder", os.replace
    write_folder(folder, filler("old"), ENTRIES)

    def fail(source, target):
        if target == folder / at and source.parent.name != "old":
            raise PermissionError("busy")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(GrandeError if keep else PermissionError, match="busy") as caught:
        write_folder(folder, filler("new"), ENTRIES, overwrite=True, keep_unmoved=keep)
    found = [entry for entry in folder.iterdir() if entry.name not in ENTRIES]
    assert len(found) == keep
    if keep:
        assert f"kept in {found[0]}" in str(caught.value)
        assert {name: (found[0] / name).read_text() for name in ENTRIES} == dict.fromkeys(ENTRIES, "new")
    assert {name: (folder / name).read_text() for name in ENTRIES} == dict.fromkeys(ENTRIES, "old")


def test_the_mark_goes_first_and_comes_last(tmp_path, monkeypatch):
    folder, replace, moves = tmp_path / "folder", os.replace, []
    write_folder(folder, filler("old"), ENTRIES)
    monkeypatch.setattr(os, "replace", lambda *pair: moves.append(pair) or replace(*pair))
    write_folder(folder, filler("new"), ENTRIES, overwrite=True)
    moves = [pair for pair in moves if "journal" not in pair[1].name]
    assert moves[0][0] == folder / "mark"
    assert moves[-1][1] == folder / "mark"


def test_a_copy_that_is_cut_short_without_a_word_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "source").write_bytes(bytes(1000))
    copy_whole(tmp_path / "source", tmp_path / "good")
    assert (tmp_path / "good").read_bytes() == bytes(1000)
    monkeypatch.setattr("shutil.copy2", lambda source, place: place.write_bytes(bytes(7)))
    with pytest.raises(OSError, match="7 of 1000 bytes were copied"):
        copy_whole(tmp_path / "source", tmp_path / "short")


# -- new folders --------------------------------------------------------------------------------------


def fill_two(part: Path) -> None:
    (part / "b").mkdir()
    (part / "b" / "2").write_text("2")
    (part / "1").write_text("1")


def test_a_new_folder_is_removed_when_it_cannot_be_filled(tmp_path):
    def fail(part: Path) -> None:
        fill_two(part)
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        write_new_folder(tmp_path / "new", fail)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_got_files_meanwhile_is_not_replaced(tmp_path):
    def fill(part: Path) -> None:
        fill_two(part)
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "mine").touch()

    with pytest.raises(FileExistsError, match="were not there before"):
        write_new_folder(tmp_path / "new", fill)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mine"]
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize("broken", ["rename", "mkdtemp"])
def test_a_folder_that_cannot_be_replaced_is_filled_inside(tmp_path, monkeypatch, broken):
    (tmp_path / "volume").mkdir()
    make = tempfile.mkdtemp

    def refuse(*arguments, **options):
        if broken == "mkdtemp" and Path(options["dir"]) != tmp_path:
            return make(*arguments, **options)
        raise PermissionError("a mounted volume in a folder that is not ours")

    monkeypatch.setattr(*((os, "rename") if broken == "rename" else (tempfile, "mkdtemp")), refuse)
    write_new_folder(tmp_path / "volume", fill_two)
    assert (tmp_path / "volume" / "b" / "2").read_text() == "2"
    assert sorted(path.name for path in (tmp_path / "volume").iterdir()) == ["1", "b"]
    assert [path.name for path in tmp_path.iterdir()] == ["volume"]


def test_what_a_killed_copy_left_beside_the_folder_is_removed(tmp_path):
    (tmp_path / ".grande-abcdefgh.part" / "new").mkdir(parents=True)
    write_new_folder(tmp_path / "new", fill_two)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
