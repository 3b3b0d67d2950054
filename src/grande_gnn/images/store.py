"""The feature store: features kept by file content, so that no image is extracted twice.

There is one SQLite file per extractor. A row holds the digest of an image file's bytes, its thumbnail
and its features. Rows are written in transactions, so a process killed at any moment leaves
the rows of all finished transactions and nothing else. A second table remembers the digest of
each path together with the file's size and times, so that unchanged files are not even opened again.

The store is in the folder ``GRANDE_CACHE`` if that variable is set, otherwise in the user's cache
folder (``~/.cache/grande-gnn`` on Linux). Deleting it costs only the time to extract again.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from grande_gnn.errors import FileFormatError, GrandeError

__all__ = ["FeatureStore", "FileState", "StoredImage", "default_store_folder", "digest_file"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS images (digest BLOB PRIMARY KEY, thumbnail BLOB NOT NULL, feature BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, changed INTEGER, digest BLOB NOT NULL
) WITHOUT ROWID;
"""
_CHUNK = 500
"""Keys per query; SQLite allows at least 999."""
_WAIT_S = 120.0
"""How long to wait while another process writes to the same store."""
SETTLED_NS = 2_000_000_000
"""A file changed less than two seconds ago may change again without a new time stamp."""


def default_store_folder() -> Path:
    """``GRANDE_CACHE`` if it is set, otherwise this package's folder among the user's caches."""
    if folder := os.environ.get("GRANDE_CACHE"):
        return Path(folder)
    # Without platformdirs' opinion that the folder ends in "Cache" on Windows: version 0.1 had none.
    return user_cache_path("grande-gnn", appauthor=False, opinion=False)


class FileState(NamedTuple):
    """By these values a file is recognized as unchanged; the path is in bytes, as on disk."""

    path: bytes
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """The present state of the file at ``path``."""
        info = os.stat(path)
        return cls(os.fsencode(path.absolute()), info.st_size, info.st_mtime_ns, info.st_ctime_ns)

    def is_settled(self) -> bool:
        """Whether a later change would be visible in the time stamps."""
        return time.time_ns() - max(self.modified, self.changed) > SETTLED_NS


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
    """The features of one extractor; see the module's documentation.

    An object holds only the path, so it may be sent to other processes; each call opens the file.
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
        """A connection with a transaction that is committed if the block ends without an error."""
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
                f"the feature store {self.path} is damaged: delete it, and the features will be extracted again; "
                f"got {error}"
            ) from error

    def add(self, images: Sequence[StoredImage], files: Sequence[tuple[FileState, bytes]] = ()) -> None:
        """Store images, and which content each file has, in one transaction."""
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
        """Store thumbnails, by digest, of images that have none yet."""
        with self._open() as connection:
            connection.executemany(
                "UPDATE images SET thumbnail = ? WHERE digest = ? AND thumbnail = x''",
                ((data, digest) for digest, data in thumbnails.items()),
            )

    def digests(self) -> frozenset[bytes]:
        """The digests of all images in the store."""
        with self._open() as connection:
            return frozenset(row[0] for row in connection.execute("SELECT digest FROM images"))

    def is_empty(self) -> bool:
        """Whether the store holds no image."""
        with self._open() as connection:
            return connection.execute("SELECT 1 FROM images LIMIT 1").fetchone() is None

    def unchanged(self, states: Sequence[FileState]) -> list[bytes | None]:
        """The digest of each file that has not changed since its features were stored, otherwise None."""
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
        """The thumbnails of ``digests``, in their order, as JPEG files of 64 × 64 pixels; empty where there is none."""
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
