"""The content of the cache folder: features, adapted networks, and damaged stores that were set aside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grande_gnn.errors import GrandeError
from grande_gnn.images.store import default_store_folder
from grande_gnn.images.store_file import StoreFile

__all__ = ["CacheEntry", "clear_entries", "list_entries"]

_JOURNAL = r"(?:-journal|-wal|-shm)?"
_UNFINISHED = r"(?:\.[a-z0-9_]{8}\.part)?"
"""The end of the name of a file that a killed process left half written."""
_KINDS = {
    "features": re.compile(rf"(?P<name>.+)\.sqlite{_JOURNAL}"),
    "damaged store": re.compile(rf"(?P<name>.+)\.sqlite\.corrupt-\d+{_JOURNAL}"),
    "adapted network": re.compile(
        rf"\.?(?P<name>adapted-[0-9a-f]{{16}})\.(?:safetensors|checkpoint){_UNFINISHED}"
    ),
}
"""Patterns of the files that this package writes there; nothing else is listed or removed."""


@dataclass(frozen=True)
class CacheEntry:
    """The files of one extractor, one adapted network or one damaged store."""

    kind: str
    """``features``, ``adapted network`` or ``damaged store``."""
    name: str
    files: tuple[Path, ...]
    n_bytes: int
    n_images: int | None
    """How many images have features; None for other kinds, and for a store that cannot be read."""


def list_entries(folder: str | Path | None = None) -> list[CacheEntry]:
    """The files of this package in the folder, sorted by kind and name; none if there is no such folder."""
    place = Path(folder or default_store_folder())
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        for kind, name in _kind_of(path):
            groups.setdefault((kind, name), []).append(path)
    return [_entry(kind, name, files) for (kind, name), files in sorted(groups.items())]


def clear_entries(entries: list[CacheEntry]) -> int:
    """Remove the files of these entries; returns the number of bytes freed. Files that are already gone are ignored."""
    for entry in entries:
        for path in entry.files:
            path.unlink(missing_ok=True)
    return sum(entry.n_bytes for entry in entries)


def _kind_of(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_symlink() or not path.is_file():
        return
    for kind, pattern in _KINDS.items():
        if match := pattern.fullmatch(path.name):
            yield kind, match["name"]


def _entry(kind: str, name: str, files: list[Path]) -> CacheEntry:
    n_images = _count(files[0].with_name(f"{name}.sqlite")) if kind == "features" else None
    return CacheEntry(kind, name, tuple(files), sum(path.stat().st_size for path in files), n_images)


def _count(path: Path) -> int | None:
    """The number of rows of a store; None if it is gone, damaged, or locked by another process."""
    if not path.is_file():
        return None
    try:
        with StoreFile(path).read_only() as connection:
            return int(connection.execute("SELECT count(*) FROM images").fetchone()[0])
    except GrandeError:
        return None
