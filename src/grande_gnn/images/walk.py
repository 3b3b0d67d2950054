"""Walk a folder of images: every regular file once, links followed, loops cut."""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from grande_gnn.images.problems import Problem

__all__ = ["FolderFiles", "walk"]

_SUFFIX = re.compile(
    r"\.(jpe?g|jpe|jfif|png|webp|gif|bmp|tiff?|hei[cf]|hif|avif|mpo|jp2|p[bgnp]m)", re.IGNORECASE
)
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"II*\0", b"MM\0*")
_HIDDEN = frozenset({"thumbs.db", "desktop.ini", "__macosx"})
"""What operating systems leave in folders; like names that start with a dot, not worth a row."""


@dataclass
class FolderFiles:
    """What a folder holds; paths are relative to it, with forward slashes, sorted."""

    images: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Regular files that are no images by name and by their first bytes."""
    problems: list[Problem] = field(default_factory=list)


def walk(root: Path) -> FolderFiles:
    """List the files under ``root``.

    Folders are visited before links to folders, so that a link to a folder inside the tree never
    hides it: such a link, and with it every loop, is listed as a problem and not followed.
    """
    found = FolderFiles()
    visited: set[tuple[int, int]] = set()
    folders, links = [""], deque[str]()
    while folders or links:
        is_link = not folders
        folder = links.popleft() if is_link else folders.pop()
        try:
            info = os.stat(root / folder)
            if (info.st_dev, info.st_ino) in visited:
                found.problems.append(Problem(folder, "link to a folder that is already included"))
                continue
            visited.add((info.st_dev, info.st_ino))
            with os.scandir(root / folder) as entries:
                names = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            found.problems.append(Problem(folder, f"folder cannot be opened: {error.strerror}"))
            continue
        for entry in names:
            _sort_entry(entry, f"{folder}/{entry.name}" if folder else entry.name, found, folders, links)
    found.images.sort()
    found.others.sort()
    return found


def _sort_entry(
    entry: os.DirEntry[str], path: str, found: FolderFiles, folders: list[str], links: deque[str]
) -> None:
    if entry.name.startswith(".") or entry.name.casefold() in _HIDDEN:
        return
    try:
        mode = entry.stat().st_mode
        if stat.S_ISDIR(mode):
            (links if entry.is_symlink() else folders).append(path)
        elif not stat.S_ISREG(mode):  # opening a named pipe would wait for ever
            found.problems.append(Problem(path, "not a regular file"))
        elif _SUFFIX.fullmatch(os.path.splitext(entry.name)[1]) or _starts_like_image(entry.path):
            found.images.append(path)
        else:
            found.others.append(path)
    except OSError as error:
        kind = "broken link" if entry.is_symlink() else "cannot be opened"
        found.problems.append(Problem(path, f"{kind}: {error.strerror}"))


def _starts_like_image(path: str) -> bool:
    """Whether a file with another suffix is an image after all."""
    with open(path, "rb") as file:
        head = file.read(12)
    return head.startswith(_MAGIC) or (head[:4] == b"RIFF" and head[8:] == b"WEBP")
