"""Temporary files and folders that are locked while they are filled, and the removal of those whose process was killed.

The process that fills a temporary file or folder holds a lock on it (``flock``). The system releases the lock when that
process ends, however it ends: what another process can lock is abandoned. Where a file system has no locks, what has not
changed for an hour is taken as abandoned.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["JOURNAL", "is_unfinished", "locked", "remove_abandoned", "temporary_file", "temporary_folder"]

JOURNAL = "journal.json"
"""A temporary folder with a file of this name is not deleted: its content is needed to undo a swap."""
_ABANDONED_S = 3600
"""After this time without a change, what cannot be locked at all is taken as abandoned."""
_TRIES = 100
_RANDOM = r"[a-z0-9_]{8}"
"""The part of a name that :mod:`tempfile` chooses."""
_FOLDER = re.compile(rf"\.grande-{_RANDOM}\.part")


def is_unfinished(entry: Path) -> bool:
    """Whether this is a temporary folder of :func:`temporary_folder`."""
    return _FOLDER.fullmatch(entry.name) is not None


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A new locked folder ``.grande-*.part`` in ``parent``; the caller moves or deletes it."""
    for _ in range(_TRIES):
        made = Path(tempfile.mkdtemp(prefix=".grande-", suffix=".part", dir=parent))
        lock = os.open(made, os.O_RDONLY)
        if _is_kept(lock, made):
            break
        os.close(lock)
    try:
        yield made
    finally:
        os.close(lock)


@contextmanager
def temporary_file(target: Path) -> Iterator[tuple[int, Path]]:
    """The descriptor and path of a new locked file ``.<name>.*.part`` next to ``target``; the caller moves or deletes it."""
    for _ in range(_TRIES):
        handle, name = tempfile.mkstemp(prefix=_prefix(target), suffix=".part", dir=target.parent)
        if _is_kept(handle, Path(name)):
            break
        os.close(handle)
    try:
        yield handle, Path(name)
    finally:
        os.close(handle)


def remove_abandoned(folder: Path, target: Path | None = None) -> None:
    """Delete what killed processes left in ``folder``: temporary files for ``target``, or without it temporary folders."""
    pattern = _FOLDER if target is None else re.compile(rf"{re.escape(_prefix(target))}{_RANDOM}\.part")
    with suppress(OSError):  # no such folder, or it may not be read: then nothing can be removed
        for name in os.listdir(folder):
            if pattern.fullmatch(name):
                _remove_if_abandoned(folder / name)


@contextmanager
def locked(path: Path, *, shared: bool = False, wait_s: float = 30.0) -> Iterator[bool | None]:
    """Hold the lock of a file or folder inside the block.

    Yields True; False if another process kept the lock for longer than ``wait_s``; None if there are no locks.
    """
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        end = time.monotonic() + wait_s
        while (got := _try_lock(lock, shared)) is False and time.monotonic() < end:
            time.sleep(0.02)
        yield got
    finally:
        os.close(lock)


def _prefix(target: Path) -> str:
    return f".{target.name[:40]}."


def _try_lock(descriptor: int, shared: bool = False) -> bool | None:
    """True: this process has the lock. False: another one has it. None: there are no locks here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR) else None
    return True


def _is_kept(descriptor: int, path: Path) -> bool:
    """Lock what was just made; False if another process took it for abandoned in between."""
    if _try_lock(descriptor) is False:
        return False
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _remove_if_abandoned(path: Path) -> None:
    with suppress(OSError):  # another process removes it too, or it belongs to somebody else
        lock = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            free = _try_lock(lock)
            if free is None:
                free = time.time() - os.stat(path).st_mtime > _ABANDONED_S
            if free and not _holds_only_copy(path):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        finally:
            os.close(lock)


def _holds_only_copy(path: Path) -> bool:
    """Whether an earlier result was moved in here and not yet back: by a swap with a journal, or by version 0.1."""
    earlier = path / "earlier"
    return (path / JOURNAL).exists() or (earlier.is_dir() and any(earlier.iterdir()))
