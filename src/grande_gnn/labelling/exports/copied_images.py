"""Copies of the images under names that no other tool can misread.

File names may hold anything: line breaks, bytes that are not Unicode, words such as ``test`` that a loader takes for the
name of a split. So copies are named by the number of their row, and the original path is written next to the label.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from grande_gnn.internal.files import copy_whole
from grande_gnn.labelling.exports.export import images_folder

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["copy_numbered"]


def copy_numbered(folder: Path, labelling: Labelling, what: str) -> list[str]:
    """Copy every image into ``folder`` and return the names of the copies, in the order of the rows."""
    root = images_folder(labelling, what)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for row, file in enumerate(labelling.files):
        ending = Path(file).suffix.lower()
        names.append(f"{row:06d}{ending if re.fullmatch(r'[.][a-z0-9]+', ending, re.ASCII) else ''}")
        copy_whole(root / file, folder / names[-1])
    return names
