"""Copies of the images in class folders, which torchvision and others read as an ``ImageFolder``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from grande_gnn.errors import OutputExistsError
from grande_gnn.labelling.exports.export import ClassIds, Export, images_folder

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = [
    "IMAGE_FOLDER", "check_copies", "copy_to_class_folders", "folder_name", "folder_names", "free_name",
]  # fmt: skip

_LONGEST = 255
"""Bytes of the longest name in most file systems."""


def check_copies(folder: str | Path) -> Path:
    """Refuse a folder for the copies that is not empty; what a killed run left there is removed first."""
    from grande_gnn.internal.swap import recover

    target = Path(folder)
    recover(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputExistsError(
            f"the folder for the copies must be new or empty: name another; got {target}, which has files"
        )
    return target


def copy_to_class_folders(folder: str | Path, result: Labelling, root: Path) -> int:
    """Copy every image into ``folder/<label>/``; nothing is moved, and a folder that is not empty is refused.

    ``a/b.jpg`` becomes ``a_b.jpg``; a name that is taken, whatever its case, gets a number, and one that is too long for a
    file system is cut. The folder appears when all copies are complete.
    """
    from grande_gnn.internal.files import copy_whole, write_new_folder
    from grande_gnn.internal.progress import counting

    advance = counting("copy", len(result.files))

    def fill(part: Path) -> None:
        folders = folder_names(result.labels)
        taken: dict[str, set[str]] = {label: set() for label in folders}
        for file, label in zip(result.files, result.labels, strict=True):
            name = Path(file.replace("/", "_"))
            place = part / folders[label] / free_name(name.stem, name.suffix, taken[label])
            place.parent.mkdir(exist_ok=True)
            copy_whole(root / file, place)
            advance(1)

    target = check_copies(folder)
    target.resolve().parent.mkdir(parents=True, exist_ok=True)
    write_new_folder(target, fill)
    return len(result.files)


def folder_name(label: str) -> str:
    """A label as the name of a folder: no separators, no leading dot.

    >>> folder_name("../a/b")
    '_.._a_b'
    """
    name = re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", label).strip() or "_"
    return f"_{name}" if name.startswith(".") else name


def folder_names(labels: Iterable[str]) -> dict[str, str]:
    """A folder for each label: labels that differ only in case, or in characters that a folder cannot have, get a number.

    >>> folder_names(["a/b", "a_b"])
    {'a/b': 'a_b', 'a_b': 'a_b_2'}
    """
    taken: set[str] = set()
    return {label: free_name(folder_name(label), "", taken) for label in sorted(set(labels))}


def free_name(stem: str, suffix: str, taken: set[str]) -> str:
    """A name that is not taken, whatever its case, and short enough for a file system; it is taken from then on."""
    number, ending = 1, suffix
    while (name := _cut(stem, ending)).casefold() in taken:
        number += 1
        ending = f"_{number}{suffix}"
    taken.add(name.casefold())
    return name


def _cut(stem: str, ending: str) -> str:
    while stem and len(os.fsencode(stem + ending)) > _LONGEST:
        stem = stem[:-1]
    return stem + ending


def _write(place: Path, labelling: Labelling, ids: ClassIds) -> None:
    copy_to_class_folders(place, labelling, images_folder(labelling, "an image folder"))


IMAGE_FOLDER = Export("image-folder", "image-folder", "Copies of the images in class folders.", _write)
"""A folder with one subfolder per label."""
