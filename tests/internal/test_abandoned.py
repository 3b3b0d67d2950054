"""A temporary file or folder lives as long as the process that fills it, and no longer than the next one."""

import os
import signal
import subprocess
import sys
import time

import pytest

from grande_gnn.internal import abandoned
from grande_gnn.internal.abandoned import (
    is_unfinished,
    locked,
    remove_abandoned,
    temporary_file,
    temporary_folder,
)

HOLDER = """
import sys, time
from pathlib import Path
from grande_gnn.internal.abandoned import temporary_file, temporary_folder
folder = Path(sys.argv[1])
with temporary_folder(folder) as part, temporary_file(folder / "f.npz") as (handle, file):
    (part / "half").write_text("half")
    print(part.name, file.name, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that is filling a temporary folder and a temporary file in ``tmp_path``."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert len(process.stdout.readline().split()) == 2
    yield process
    process.kill()
    process.wait()


def clean(folder):
    remove_abandoned(folder)
    remove_abandoned(folder, folder / "f.npz")
    return len(os.listdir(folder))


def test_what_a_living_process_fills_stays_and_what_a_killed_one_left_goes(tmp_path, holder):
    assert clean(tmp_path) == 2
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert clean(tmp_path) == 0


def test_other_names_are_not_touched(tmp_path):
    for name in (
        ".grande-short.part",
        ".f.npz.part",
        "f.npz",
        ".other.npz.abcdefgh.part",
        ".grande-abcdefgh",
    ):
        (tmp_path / name).mkdir()
    assert clean(tmp_path) == 5
    (tmp_path / ".grande-abcdefgh.part").mkdir()
    assert clean(tmp_path) == 5


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (tmp_path / ".grande-abcdefgh.part").symlink_to(tmp_path / "mine")
    remove_abandoned(tmp_path)
    assert (tmp_path / "mine" / "file").exists()


def test_a_folder_that_holds_the_only_copy_of_a_result_stays(tmp_path):
    for number, inside in enumerate(("journal.json", "earlier/predictions.csv")):
        place = tmp_path / f".grande-abcdefg{number}.part" / inside
        place.parent.mkdir(parents=True)
        place.touch()
    assert clean(tmp_path) == 2


def test_names(tmp_path):
    with temporary_folder(tmp_path) as part, temporary_file(tmp_path / "f.npz") as (_, file):
        assert is_unfinished(part)
        assert not is_unfinished(file)
        assert file.parent == part.parent == tmp_path


def test_what_was_taken_for_abandoned_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    make, made = abandoned.tempfile.mkdtemp, []

    def steal(**where):
        made.append(make(**where))
        if len(made) == 1:
            os.rmdir(made[0])
            os.mkdir(made[0])  # the same name, another folder
            descriptor = os.open(made[0], os.O_RDONLY)
            os.rmdir(made[0])
            monkeypatch.setattr(abandoned.os, "open", lambda *a: (monkeypatch.undo(), descriptor)[1])
        return made[-1]

    monkeypatch.setattr(abandoned.tempfile, "mkdtemp", steal)
    with temporary_folder(tmp_path) as part:
        assert part.is_dir()
        assert clean(tmp_path) == 1


def test_one_lock_at_a_time_and_many_readers(tmp_path):
    with locked(tmp_path) as got:
        assert got is True
        with locked(tmp_path, wait_s=0.05) as second:
            assert second is False
    with locked(tmp_path, shared=True) as one, locked(tmp_path, shared=True, wait_s=0) as two:
        assert one is two is True
    with locked(tmp_path / "absent") as got:
        assert got is None


def test_without_locks_only_what_is_old_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(abandoned, "fcntl", None)
    part = tmp_path / ".grande-abcdefgh.part"
    part.mkdir()
    assert clean(tmp_path) == 1
    hours_ago = time.time() - 7200
    os.utime(part, (hours_ago, hours_ago))
    assert clean(tmp_path) == 0
