"""Replace the entries of a folder by new ones in one step: after a kill at any moment, all of it is done or none.

A temporary folder inside the folder holds ``new/``, ``old/`` and, while entries are moved, ``journal.json`` with their
names. Old entries are moved out and new ones in; deleting the journal completes the step. Whoever finds a journal while
nobody moves entries knows that a process was killed, and moves everything back. One process at a time moves: it holds
the lock of the folder.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from grande_gnn.errors import FileFormatError, GrandeError
from grande_gnn.internal.abandoned import JOURNAL, is_unfinished, locked, remove_abandoned

__all__ = ["discard", "new_entries", "recover", "settled", "swap_in", "sync"]

_KILLED_S = 60
"""If there are no locks, an older journal is that of a killed process: moving takes milliseconds."""


def new_entries(part: Path) -> Path:
    """The folder in the temporary folder ``part`` that the new entries are written into."""
    return part / "new"


def swap_in(part: Path, whole: Path, entries: Sequence[str], overwrite: bool) -> None:
    """Put the entries in ``new_entries(part)`` in the place of earlier ones in ``whole``, or change nothing.

    ``entries`` are all names that are replaced; the first marks complete content: it is moved out first and in last.
    """
    new = sorted(os.listdir(new_entries(part)), key=lambda name: name == entries[0])
    sync(new_entries(part))
    with locked(whole) as got:
        if got is False:
            raise BlockingIOError(f"another process that has been writing to {whole} for half a minute")
        _undo_killed(whole, has_lock=bool(got))
        old = [name for name in entries if os.path.lexists(whole / name)]
        if old and not overwrite:
            raise FileExistsError(f"{old[0]}, which was not there before")
        (part / "old").mkdir()
        try:
            _write_journal(part, old, new)
            for name in old:
                os.replace(whole / name, part / "old" / name)
            for name in new:
                os.replace(new_entries(part) / name, whole / name)
            _sync_one(whole)
            (part / JOURNAL).unlink()
        except BaseException:
            with suppress(OSError):  # then the journal stays, and the next process tries again
                _undo(part, whole)
            raise
        with suppress(OSError):  # the step is complete; at worst a crash of the machine now undoes it
            _sync_one(part)


def recover(whole: Path) -> None:
    """Undo the swap of a process that was killed in it, and delete the temporary folders of killed processes."""
    if not any(is_unfinished(entry) for entry in _entries(whole)):
        return
    with locked(whole) as got:
        if got is not False:
            _undo_killed(whole, has_lock=bool(got))
    remove_abandoned(whole)


@contextmanager
def settled(whole: Path) -> Iterator[None]:
    """Inside the block the folder can be read: it holds one whole result, and nobody replaces it."""
    recover(whole)
    with locked(whole, shared=True):
        yield


def sync(folder: Path) -> None:
    """Wait until everything in the folder is on the disk."""
    for root, _, files in os.walk(folder):
        for name in files:
            _sync_one(Path(root, name))
        _sync_one(Path(root))


def _sync_one(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows cannot open folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _entries(whole: Path) -> list[Path]:
    try:
        return list(whole.iterdir())
    except OSError:  # no folder, or one that may not be read: whoever needs it says so
        return []


def _write_journal(part: Path, old: list[str], new: list[str]) -> None:
    draft = part / f"{JOURNAL}.draft"
    draft.write_text(json.dumps({"old": old, "new": new}), encoding="utf-8")
    _sync_one(draft)
    os.replace(draft, part / JOURNAL)
    _sync_one(part)


def _undo_killed(whole: Path, has_lock: bool) -> None:
    """Undo every swap that has a journal: with the folder's lock, nobody is in the middle of one."""
    for part in _entries(whole):
        journal = part / JOURNAL
        if is_unfinished(part) and journal.is_file():
            try:
                if has_lock or time.time() - journal.stat().st_mtime > _KILLED_S:
                    _undo(part, whole)
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise GrandeError(
                    f"a run was killed while it replaced the result in {whole}, and the earlier result cannot be moved "
                    f"back from {part / 'old'}: move it yourself; got {error}"
                ) from error


def _undo(part: Path, whole: Path) -> None:
    """Move back what was moved. May be interrupted and called again."""
    moved = json.loads((part / JOURNAL).read_text(encoding="utf-8"))
    for name in _names(moved["new"]):
        if not os.path.lexists(new_entries(part) / name) and os.path.lexists(whole / name):
            os.replace(whole / name, new_entries(part) / name)
    for name in _names(moved["old"]):
        if os.path.lexists(part / "old" / name):
            os.replace(part / "old" / name, whole / name)
    _sync_one(whole)
    (part / JOURNAL).unlink()


def _names(names: list[str]) -> list[str]:
    """The names of a journal, which must be those of entries of the folder and no paths."""
    if any(Path(name).name != name for name in names):
        raise FileFormatError(f"the names in a journal must be names of entries; got {names}")
    return names


def discard(part: Path) -> None:
    """Delete a temporary folder, unless it is needed to undo a swap."""
    if not (part / JOURNAL).exists():
        shutil.rmtree(part, ignore_errors=True)
