"""The SQLite file behind the feature store: opened with limits, set aside when it is damaged.

The file may have been damaged by the disk, or written by somebody else. Only the two expected tables are accepted, because a
view or a trigger would run whatever its author wrote. SQLite's error codes tell damage from other problems: a damaged
file is renamed to ``….corrupt-N``, and features are extracted again; a full disk, missing permissions or a file system
without locks are reported, and nothing is changed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from grande_gnn.errors import FileFormatError, GrandeError

__all__ = ["MAX_BLOB", "DamagedStoreError", "StoreFile"]

MAX_BLOB = 1 << 20
"""Largest blob that is read or written, in bytes: a thumbnail has about two thousand, features at most some ten thousand."""

_WAIT_S = 120.0
"""How long to wait while another process writes to the same store."""

_IMAGES = "CREATE TABLE images (digest BLOB PRIMARY KEY, thumbnail BLOB NOT NULL, feature BLOB NOT NULL)"
_FILES = (
    "CREATE TABLE files (path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, changed INTEGER, digest BLOB NOT NULL) "
    "WITHOUT ROWID"
)
_CHECKS = ("feature_check BLOB", "thumbnail_check BLOB")
"""Columns that version 0.1 did not have."""

_CHECKED = f"{_IMAGES[:-1]}, {', '.join(_CHECKS)})"
_CIRCUMSTANCES = {
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH,
}  # fmt: skip


class DamagedStoreError(FileFormatError):
    """The feature store was damaged; it has been set aside, and a new one is started by the next call."""


class StoreFile:
    """One SQLite file; an object holds only its path, so it may be sent to other processes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def open(self, *, is_locked: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection with a transaction that is committed if the block ends without an error.

        ``is_locked`` says that the caller holds the folder's lock, which is needed to create files or to set them aside.
        """
        inode = _inode(self.path)
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as connection, connection:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 16 * MAX_BLOB)
                connection.text_factory = bytes  # no text is expected, and damaged text must not raise
                connection.execute("PRAGMA trusted_schema = OFF")
                yield connection
        except (
            sqlite3.Error,
            UnicodeDecodeError,
        ) as error:  # SQLite may quote a damaged name that is no text
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code in _CIRCUMSTANCES:
                raise GrandeError(
                    f"the feature store {self.path} cannot be used (disk full, no permission, a file system without "
                    f"locks?): choose another folder with --store or GRANDE_CACHE; got {error}"
                ) from error
            with nullcontext() if is_locked else _lock(self.path.parent):
                name = self._set_aside(inode)
            raise DamagedStoreError(
                f"the feature store {self.path} is damaged and was set aside as {name}: features are "
                f"extracted again when they are next needed; got {' '.join(str(error).split())}"
            ) from error

    @contextmanager
    def read_only(self) -> Iterator[sqlite3.Connection]:
        """A connection that changes nothing and sets nothing aside; every problem is a :class:`GrandeError`."""
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                connection.execute("PRAGMA trusted_schema = OFF")
                yield connection
        except sqlite3.Error as error:
            raise GrandeError(
                f"the feature store {self.path} cannot be read: try again when no other run uses it; got {error}"
            ) from error

    def prepare(self) -> bool:
        """Create missing tables; returns whether the rows are of version 0.1, without checksums."""
        with _lock(self.path.parent), self.open(is_locked=True) as connection:
            if _tables(connection) == {_spelled(_CHECKED), _spelled(_FILES)}:
                return False
            connection.execute(
                "BEGIN IMMEDIATE"
            )  # where folders have no locks, two processes may start a store at once
            found = _tables(connection)
            is_old = found == {_spelled(_IMAGES), _spelled(_FILES)}
            if not found:
                connection.execute(_CHECKED)
                connection.execute(_FILES)
            elif is_old:
                for column in _CHECKS:
                    connection.execute(f"ALTER TABLE images ADD COLUMN {column}")
            elif found != {_spelled(_CHECKED), _spelled(_FILES)}:
                raise sqlite3.DatabaseError("tables that are not those of a feature store")
            return is_old

    def _set_aside(self, inode: int | None) -> str:
        """Rename the damaged file and its journal, unless another process has done so; returns the new name."""
        if _inode(self.path) != inode:
            return "another file by another process"
        for number in range(1, 10_000):
            target = self.path.with_name(f"{self.path.name}.corrupt-{number}")
            if not target.exists():
                break
        for ending in (
            "-journal",
            "-wal",
            "-shm",
        ):  # a new file must not be repaired with the old one's journal
            with suppress(OSError):
                os.replace(f"{self.path}{ending}", f"{target}{ending}")
        try:
            os.replace(self.path, target)
        except OSError as error:
            return f"nothing, because it could not be renamed ({error.strerror})"
        return target.name


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Let only one process at a time create or set aside a file in the folder, if the system has such locks."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # Windows
        yield
        return
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _inode(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _tables(connection: sqlite3.Connection) -> set[str]:
    """The SQL that created everything in the file, except what SQLite adds by itself."""
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {_spelled(bytes(row[0]).decode("utf-8", "replace")) for row in rows}


def _spelled(sql: str) -> str:
    """A statement without the white space that does not matter."""
    return " ".join(sql.split()).replace("( ", "(").replace(" )", ")")
