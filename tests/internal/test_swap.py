"""A swap that is killed between any two system calls leaves the whole old content or the whole new one."""

import json
import os
import shutil

import pytest

from grande_gnn.errors import GrandeError
from grande_gnn.internal.files import write_folder
from grande_gnn.internal.swap import recover, settled

ENTRIES = ("mark", "one", "two", "three")
CALLS = ("replace", "unlink", "mkdir", "fsync", "open", "rmdir", "rename")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Whether data reaches the disk cannot be seen here, and waiting for it takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def filler(text, names):
    def fill(part):
        for name in names:
            (part / name).write_text(text)
        (part / "three").mkdir()
        (part / "three" / "inner").write_text(text)

    return fill


def write(folder, text, *names, overwrite=False):
    write_folder(folder, filler(text, ("mark", *names)), ENTRIES, overwrite=overwrite)


def content(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


class Killed(BaseException):
    """Stands for SIGKILL: from the chosen system call on, nothing can be changed any more."""


def is_killed(work, at):
    """Run ``work`` until its ``at``-th system call that may change something; False if it came to its end."""
    count = 0

    def dying(call):
        def counted(*arguments, **options):
            nonlocal count
            count += 1
            if count >= at:
                raise Killed
            return call(*arguments, **options)

        return counted

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, dying(getattr(os, name)))
        try:
            work()
        except Killed:
            return True
    return False


OLD = {"mark": "old", "one": "old", "three/inner": "old", "mine": "mine"}
NEW = {"mark": "new", "two": "new", "three/inner": "new", "mine": "mine"}


def test_a_kill_at_every_call_leaves_the_old_or_the_new_result(tmp_path):
    seen, number, killed = [], 0, True
    while killed:
        number += 1
        folder = tmp_path / str(number)
        write(folder, "old", "one")
        (folder / "mine").write_text("mine")
        killed = is_killed(lambda folder=folder: write(folder, "new", "two", overwrite=True), number)
        is_killed(lambda folder=folder: recover(folder), number % 7)  # recovery may be killed too
        recover(folder)
        assert content(folder) in (OLD, NEW), number
        seen.append(content(folder) == NEW)
        write(folder, "new", "two", overwrite=True)
        assert content(folder) == NEW
    assert number > 25
    assert seen == sorted(seen)  # one moment at which the old result becomes the new one
    assert seen[-1]
    assert not seen[0]


def test_a_new_folder_can_be_written_after_a_kill_at_any_call(tmp_path):
    expected, number, killed = {name: text for name, text in NEW.items() if name != "mine"}, 0, True
    while killed:
        number += 1
        folder = tmp_path / str(number)
        killed = is_killed(lambda folder=folder: write(folder, "new", "two"), number)
        recover(folder)
        if folder.exists() and content(folder):
            assert content(folder) == expected
        else:
            write(folder, "new", "two")
        assert content(folder) == expected


@pytest.fixture
def halved(tmp_path):
    """A folder whose process was killed after the old entries had been moved out."""
    folder = tmp_path / "folder"
    write(folder, "old", "one")
    number = 1
    while (folder / "mark").exists():
        assert is_killed(lambda: write(folder, "new", "two", overwrite=True), number)
        number += 1
    return folder


def test_a_reader_finds_the_old_result(halved):
    with settled(halved):
        assert content(halved) == {name: text for name, text in OLD.items() if name != "mine"}


def test_a_journal_that_names_other_places_moves_nothing(halved):
    (part,) = (entry for entry in halved.iterdir() if entry.name.startswith(".grande-"))
    outside = halved.parent / "outside"
    outside.write_text("mine")
    (part / "journal.json").write_text(json.dumps({"old": [], "new": ["../outside"]}))
    with pytest.raises(GrandeError, match=r"killed while it replaced the result in .* move it yourself; got"):
        recover(halved)
    assert outside.read_text() == "mine"


def test_without_locks_a_journal_counts_after_a_minute(halved, monkeypatch):
    monkeypatch.setattr("grande_gnn.internal.abandoned.fcntl", None)
    recover(halved)
    assert not (halved / "mark").exists()
    (journal,) = halved.glob(".grande-*/journal.json")
    os.utime(journal, (0, 0))
    recover(halved)
    assert (halved / "mark").read_text() == "old"


def fails_at(at, folder):
    """Replace the content of ``folder`` with one fault at the ``at``-th call; whether it failed, and how many calls came."""
    count = 0

    def failing(call):
        def counted(*arguments, **options):
            nonlocal count
            count += 1
            if count == at:
                raise OSError(5, "a fault")
            return call(*arguments, **options)

        return counted

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "fsync", "mkdir"):
            patch.setattr(os, name, failing(getattr(os, name)))
        try:
            write_folder(folder, filler("new", ("mark", "one")), ENTRIES, overwrite=True, keep_unmoved=True)
        except (OSError, GrandeError):
            return True, count
    return False, count


def test_an_error_at_any_call_keeps_the_old_result_or_completes_the_new_one(tmp_path):
    folder, at, came = tmp_path / "out", 0, 0
    while came >= at:
        at += 1
        write(folder, "old", "one", "two", overwrite=True)
        old = content(folder)
        failed, came = fails_at(at, folder)
        recover(folder)
        for entry in [entry for entry in folder.iterdir() if entry.name.startswith("grande-kept-")]:
            assert failed
            assert (entry / "mark").read_text() == "new"
            shutil.rmtree(entry)
        assert content(folder) == old if failed else set(content(folder).values()) == {"new"}
    assert at > 8
