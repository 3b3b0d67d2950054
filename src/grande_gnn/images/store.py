"""The feature store: features kept by file content, so that no image is extracted twice.

One SQLite file for each extractor. A row is the digest of an image file's bytes, its features
and its thumbnail; rows are written in transactions, so a process killed at any moment leaves
the rows of all finished transactions and nothing else. A second table remembers the digest of
each path with its size and times, so that unchanged files are not even opened again.

The store lies in the folder ``GRANDE_CACHE`` if that variable is set, else in the user's cache
folder (``~/.cache/grande-gnn`` on Linux). Deleting it costs nothing but the time to extract again.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, GrandeError

__all__ = ["FeatureStore", "FileState", "StoredImage", "default_store_folder", "digest_file"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS images (digest BLOB PRIMARY KEY, thumbnail BLOB NOT NULL, feature BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, changed INTEGER, digest BLOB NOT NULL
) WITHOUT ROWID;
"""
_CHUNK = 500
"""Keys in one query; SQLite allows at least 999."""
_WAIT_S = 120.0
"""How long to wait for another process that writes to the same store."""
_SETTLED_NS = 2_000_000_000
"""A file changed less than two seconds ago may change again without its times showing it."""


def default_store_folder() -> Path:
    """``GRANDE_CACHE``, else this package's folder among the user's caches."""
    if folder := os.environ.get("GRANDE_CACHE"):
        return Path(folder)
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "grande-gnn"


class FileState(NamedTuple):
    """What tells that a file is unchanged; the path as the bytes it has on disk."""

    path: bytes
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        info = os.stat(path)
        return cls(os.fsencode(path.absolute()), info.st_size, info.st_mtime_ns, info.st_ctime_ns)

    def is_settled(self) -> bool:
        """Whether a later change would show in the times."""
        return time.time_ns() - max(self.modified, self.changed) > _SETTLED_NS


class StoredImage(NamedTuple):
    """One row of the store."""

    digest: bytes
    thumbnail: bytes
    feature: NDArray[np.float32]


def digest_file(path: Path) -> bytes:
    """The key of a file's content: 20 bytes of BLAKE2b."""
    digest = hashlib.blake2b(digest_size=20)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()


class FeatureStore:
    """The features of one extractor; see the module's text.

    An object holds only the path, so it may be sent to other processes; each call opens the file anew.
    """

    def __init__(self, folder: str | Path | None, identity: str) -> None:
        self.identity = identity
        self.path = Path(folder or default_store_folder()) / f"{identity}.sqlite"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GrandeError(
                f"the feature store needs a folder to write to: choose one with --store or GRANDE_CACHE; "
                f"got {error}"
            ) from None
        with self._open() as connection:
            connection.executescript(_SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection and a transaction, which is committed when the block ends without an error."""
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as connection, connection:
                yield connection
        except sqlite3.OperationalError as error:
            raise GrandeError(
                f"the feature store {self.path} cannot be used (disk full, no permission?): choose another "
                f"folder with --store or GRANDE_CACHE; got {error}"
            ) from error
        except sqlite3.DatabaseError as error:
            raise FileFormatError(
                f"the feature store {self.path} is damaged: delete it, and its features are extracted again; "
                f"got {error}"
            ) from error

    def add(self, images: Sequence[StoredImage], files: Sequence[tuple[FileState, bytes]] = ()) -> None:
        """Keep images, and which files have which content, in one transaction."""
        with self._open() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO images VALUES (?, ?, ?)",
                ((image.digest, image.thumbnail, image.feature.astype("<f4").tobytes()) for image in images),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
                ((*state, digest) for state, digest in files if state.is_settled()),
            )

    def add_thumbnails(self, thumbnails: Mapping[bytes, bytes]) -> None:
        """Keep thumbnails, by digest, of images that are here without one."""
        with self._open() as connection:
            connection.executemany(
                "UPDATE images SET thumbnail = ? WHERE digest = ? AND thumbnail = x''",
                ((data, digest) for digest, data in thumbnails.items()),
            )

    def digests(self) -> frozenset[bytes]:
        """The keys of all images whose features are here."""
        with self._open() as connection:
            return frozenset(row[0] for row in connection.execute("SELECT digest FROM images"))

    def is_empty(self) -> bool:
        """Whether nothing was ever kept here."""
        with self._open() as connection:
            return connection.execute("SELECT 1 FROM images LIMIT 1").fetchone() is None

    def unchanged(self, states: Sequence[FileState]) -> list[bytes | None]:
        """The digest of each file that is unchanged since its features were kept, else None."""
        rows = self._select(
            "path, size, modified, changed, digest FROM files JOIN images USING (digest) WHERE path",
            [state.path for state in states],
        )
        digests = {FileState(*row[:4]): row[4] for row in rows}
        return [digests.get(state) for state in states]

    def features(self, digests: Sequence[bytes]) -> Iterator[NDArray[np.float32]]:
        """The features of ``digests``, in their order, in blocks of rows."""
        for start in range(0, len(digests), _CHUNK):
            chunk = digests[start : start + _CHUNK]
            rows = dict(self._select("digest, feature FROM images WHERE digest", chunk))
            yield np.stack([np.frombuffer(rows[digest], dtype="<f4") for digest in chunk])

    def thumbnails(self, digests: Sequence[bytes]) -> Iterator[bytes]:
        """The thumbnails of ``digests``, in their order, as JPEG files of 64 × 64 pixels; empty where none was kept."""
        for start in range(0, len(digests), _CHUNK):
            chunk = digests[start : start + _CHUNK]
            rows = dict(self._select("digest, thumbnail FROM images WHERE digest", chunk))
            yield from (rows[digest] for digest in chunk)

    def _select(self, what: str, keys: Sequence[bytes]) -> list[tuple]:
        rows: list[tuple] = []
        with self._open() as connection:
            for start in range(0, len(keys), _CHUNK):
                chunk = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                rows += connection.execute(f"SELECT {what} IN ({marks})", chunk).fetchall()
        return rows
