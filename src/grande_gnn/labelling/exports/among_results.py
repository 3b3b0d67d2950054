"""Exports in the folder of a labelling: which ones it has, and how new ones keep the numbers that classes had before."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grande_gnn.errors import FileFormatError
from grande_gnn.labelling.corrections import apply_decisions
from grande_gnn.labelling.decisions import Journal
from grande_gnn.labelling.exports.class_ids import CLASSES_FILE, read_class_ids, updated_ids, write_class_ids
from grande_gnn.labelling.exports.export import EXPORTS
from grande_gnn.labelling.settings_file import read_settings

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["earlier_exports", "export_entries", "exports_in", "write_exports"]


def export_entries(names: Sequence[str]) -> list[str]:
    """The files and folders that these exports may write into the folder of a result."""
    return [CLASSES_FILE, *(EXPORTS[name].entry for name in names)]


def earlier_exports(folder: Path) -> list[str]:
    """The formats that the result in this folder records; version 0.1 had only Label Studio and did not record it."""
    try:
        found = read_settings(folder).get("exports", ["label-studio"])
    except FileFormatError:
        return []
    return [name for name in found if name in EXPORTS] if isinstance(found, list) else []


def exports_in(folder: Path) -> list[str]:
    """Those of them that still exist in this folder."""
    return [name for name in earlier_exports(folder) if (folder / EXPORTS[name].entry).exists()]


def write_exports(part: Path, labelling: Labelling, folder: Path, names: Sequence[str]) -> None:
    """Write the exports into ``part``, which will become ``folder``; classes keep the numbers that they have there."""
    earlier = folder / CLASSES_FILE
    if not names:
        if earlier.exists():  # for the next export
            shutil.copy2(earlier, part / CLASSES_FILE)
        return
    ids = updated_ids(read_class_ids(earlier), labelling.labels, _renamed(folder))
    write_class_ids(part / CLASSES_FILE, ids)
    for name in names:
        EXPORTS[name].write(part / EXPORTS[name].entry, labelling, ids)


def _renamed(folder: Path) -> Mapping[str, str]:
    """The present name of each class that was renamed in a review of this folder."""
    return apply_decisions(Journal(folder).decisions, {}).renamed
