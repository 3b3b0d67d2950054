"""The feature store: features kept by file content, so that no image is extracted twice.

There is one SQLite file per extractor. A row holds the digest of an image file's bytes, its thumbnail and its
features, each with a checksum: a row that does not match is not used, and its image is extracted again. Rows are written
in transactions, so a process killed at any moment leaves the rows of all finished transactions and nothing else. A second
table holds the digest of each path with the file's size and times, so that unchanged files are not even opened again. Rows
of version 0.1 have no checksums; these are added, without a check, when the store is first opened.

The store is in the folder ``GRANDE_CACHE`` if that variable is set, otherwise in the user's cache
folder (``~/.cache/grande-gnn`` on Linux). Deleting it costs only the time to extract again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from grande_gnn.errors import FileFormatError, GrandeError
from grande_gnn.images.store_file import MAX_BLOB, DamagedStoreError, StoreFile

__all__ = ["FeatureStore", "FileState", "StoredImage", "default_store_folder", "digest_file"]

logger = logging.getLogger(__name__)

_CHUNK = 500
"""Keys per query; SQLite allows at least 999."""
_KEPT_BYTES = 128 << 20
"""Verified features are kept in memory up to this size, so that they are not read twice: enough for 26,000 images with 1,280
features."""
SETTLED_NS = 2_000_000_000
"""A file that changed less than two seconds ago may change again without a new time stamp."""


def default_store_folder() -> Path:
    """``GRANDE_CACHE`` if it is set, otherwise this package's folder among the user's caches."""
    if folder := os.environ.get("GRANDE_CACHE"):
        return Path(folder)
    # opinion=False: on Windows platformdirs would append "Cache", which version 0.1 did not.
    return user_cache_path("grande-gnn", appauthor=False, opinion=False)


class FileState(NamedTuple):
    """A file with the same values is taken as unchanged; the path is in bytes, as on disk."""

    path: bytes
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """The current state of the file at ``path``."""
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

    Only the path is sent to other processes; each call opens the file.
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
        self.file = StoreFile(self.path)
        self._verified: dict[bytes, bytes] = {}
        """Rows that :meth:`remove_damaged` has read, for the calls of :meth:`features` that follow."""
        try:
            is_old = self.file.prepare()
        except DamagedStoreError as error:
            logger.warning("%s", error)
            is_old = self.file.prepare()
        if is_old:
            self._adopt()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_verified": {}}

    def _adopt(self) -> None:
        """Add checksums to the rows of version 0.1; rows that cannot hold features are removed."""
        logger.info("%s was written by version 0.1: its rows get checksums", self.path)
        with self.file.open() as connection:
            connection.execute(f"DELETE FROM images WHERE {_UNUSABLE}")
            for (digest,) in connection.execute("SELECT digest FROM images").fetchall():
                thumbnail, feature = connection.execute(
                    "SELECT thumbnail, feature FROM images WHERE digest = ?", (digest,)
                ).fetchone()
                connection.execute(
                    "UPDATE images SET feature_check = ?, thumbnail_check = ? WHERE digest = ?",
                    (_check(digest, feature), _check(digest, thumbnail), digest),
                )

    def add(self, images: Sequence[StoredImage], files: Sequence[tuple[FileState, bytes]] = ()) -> None:
        """Store images, and the digest of each file, in one transaction."""
        with self.file.open() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO images VALUES (?, ?, ?, ?, ?)", (_row(image) for image in images)
            )
            connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
                ((*state, digest) for state, digest in files if state.is_settled()),
            )

    def add_thumbnails(self, thumbnails: Mapping[bytes, bytes]) -> None:
        """Store thumbnails, by digest, of images that have none or a damaged one."""
        with self.file.open() as connection:
            connection.executemany(
                "UPDATE images SET thumbnail = ?, thumbnail_check = ? WHERE digest = ?",
                ((data, _check(digest, data), digest) for digest, data in thumbnails.items()),
            )

    def digests(self) -> frozenset[bytes]:
        """The digests of all images in the store."""
        with self.file.open() as connection:
            return frozenset(row[0] for row in connection.execute("SELECT digest FROM images"))

    def is_empty(self) -> bool:
        """Whether the store holds no image."""
        with self.file.open() as connection:
            return connection.execute("SELECT 1 FROM images LIMIT 1").fetchone() is None

    def unchanged(self, states: Sequence[FileState]) -> list[bytes | None]:
        """For each file, its digest if it has not changed since its features were stored, otherwise None."""
        rows = self._select(
            "path, size, modified, changed, digest FROM files JOIN images USING (digest) WHERE path",
            [state.path for state in states],
        )
        digests = {FileState(*row[:4]): row[4] for row in rows}
        return [digests.get(state) for state in states]

    def remove_damaged(self, digests: Iterable[bytes]) -> set[bytes]:
        """Remove rows that do not match their checksums; returns the ``digests`` that have no features (any more)."""
        wanted = list(dict.fromkeys(digests))
        damaged: set[bytes] = set()
        self._verified.clear()
        room = _KEPT_BYTES
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            intact = {
                digest: row for digest, row in self._intact("feature", chunk).items() if _is_feature(row)
            }
            damaged |= set(chunk) - intact.keys()
            for digest, row in intact.items():
                if room >= len(row):
                    self._verified[digest], room = row, room - len(row)
        if damaged:
            logger.warning("%s: the features of %d images are damaged and not used", self.path, len(damaged))
            with self.file.open() as connection:
                connection.executemany(
                    "DELETE FROM images WHERE digest = ?", [(digest,) for digest in damaged]
                )
        return damaged

    def features(self, digests: Sequence[bytes]) -> Iterator[NDArray[np.float32]]:
        """Yield the features of ``digests``, in their order, in blocks of rows."""
        for start in range(0, len(digests), _CHUNK):
            chunk = digests[start : start + _CHUNK]
            rows = self._verified_or_read(chunk)
            lengths = {len(row) for row in rows.values()}
            if len(rows) < len(set(chunk)) or len(lengths) != 1:
                raise FileFormatError(
                    f"the feature store {self.path} changed while it was used: run the command again; got rows that are "
                    "missing or damaged"
                )
            joined = bytearray().join([rows[digest] for digest in chunk])
            yield np.frombuffer(joined, dtype="<f4").reshape(len(chunk), -1)

    def _verified_or_read(self, chunk: Sequence[bytes]) -> dict[bytes, bytes]:
        rows = {digest: row for digest in set(chunk) if (row := self._verified.pop(digest, None)) is not None}
        rest = self._intact("feature", [digest for digest in chunk if digest not in rows])
        return rows | {digest: row for digest, row in rest.items() if _is_feature(row)}

    def thumbnails(self, digests: Sequence[bytes]) -> Iterator[bytes]:
        """The thumbnails of ``digests``, in their order, as JPEG files of 64 × 64 pixels; empty where there is none."""
        for start in range(0, len(digests), _CHUNK):
            chunk = digests[start : start + _CHUNK]
            rows = self._intact("thumbnail", chunk)
            yield from (rows.get(digest, b"") for digest in chunk)

    def _intact(self, column: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The blobs of a column that match their checksums, by digest."""
        usable = f"typeof({column}) = 'blob' AND length({column}) <= {MAX_BLOB}"
        found = f"digest, {column}, {column}_check FROM images WHERE {usable} AND digest"
        rows = self._select(found, keys)
        return {digest: blob for digest, blob, check in rows if _fits(check, digest, blob)}

    def _select(self, what: str, keys: Sequence[bytes]) -> list[tuple]:
        rows: list[tuple] = []
        with self.file.open() as connection:
            for start in range(0, len(keys), _CHUNK):
                chunk = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                rows += connection.execute(f"SELECT {what} IN ({marks})", chunk).fetchall()
        return rows


_UNUSABLE = (
    f"typeof(digest) != 'blob' OR typeof(feature) != 'blob' OR typeof(thumbnail) != 'blob' OR length(feature) > {MAX_BLOB} "
    f"OR length(feature) = 0 OR length(feature) % 4 != 0 OR length(thumbnail) > {MAX_BLOB}"
)
"""Which rows cannot hold features; SQLite knows the length of a blob without reading it."""


def _is_feature(blob: bytes) -> bool:
    return len(blob) > 0 and len(blob) % 4 == 0


def _check(digest: bytes, blob: bytes) -> bytes:
    """The checksum of a blob in the row of ``digest``: CRC-32, which takes a quarter of the time of BLAKE2b."""
    return zlib.crc32(blob, zlib.crc32(digest)).to_bytes(4, "big")


def _fits(check: object, digest: object, blob: bytes) -> bool:
    """Whether the checksum matches the blob; one of sixteen bytes is BLAKE2b, which the first stores used."""
    if not isinstance(digest, bytes):  # an index and its table may disagree in a damaged file
        return False
    if isinstance(check, bytes) and len(check) == 16:
        return check == hashlib.blake2b(digest + blob, digest_size=16).digest()
    return check == _check(digest, blob)


def _row(image: StoredImage) -> tuple[bytes, ...]:
    feature = image.feature.astype("<f4").tobytes()
    checks = (_check(image.digest, feature), _check(image.digest, image.thumbnail))
    return image.digest, image.thumbnail, feature, *checks
