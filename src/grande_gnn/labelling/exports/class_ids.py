"""The number of each class, which stays the same from export to export: ``classes.json``.

A new class gets the next free number, a renamed one keeps its number, and a class that is gone keeps its number too, so
that no other class ever gets it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.json_file import read_json

__all__ = ["CLASSES_FILE", "class_list", "read_class_ids", "updated_ids", "write_class_ids"]

CLASSES_FILE = "classes.json"
"""The file of a labelling that keeps the numbers of its classes."""


def updated_ids(
    ids: Mapping[str, int], labels: Iterable[str], renamed: Mapping[str, str] | None = None
) -> dict[str, int]:
    """The numbers of all classes, old and new.

    Parameters
    ----------
    ids : the numbers so far.
    labels : the labels in use; ``""`` is no label.
    renamed : the present name of classes that were renamed. A class that was merged into one with a number keeps
        its old name and number, unused.

    >>> updated_ids({"cat": 0, "dgo": 1}, ["dog", "cat", "ant"], {"dgo": "dog"})
    {'cat': 0, 'dog': 1, 'ant': 2}
    """
    renamed = renamed or {}
    found: dict[str, int] = {}
    for name, number in ids.items():
        new = renamed.get(name, name)
        found[name if new in ids or new in found else new] = number
    free = max(found.values(), default=-1) + 1
    for name in sorted({label for label in labels if label} - set(found)):
        found[name] = free
        free += 1
    return found


def class_list(ids: Mapping[str, int]) -> list[str]:
    """The names by number; numbers that no class has are named ``""``."""
    names = [""] * (max(ids.values(), default=-1) + 1)
    for name, number in ids.items():
        names[number] = name
    return names


def write_class_ids(path: Path, ids: Mapping[str, int]) -> None:
    """Write ``classes.json``."""
    classes = [{"id": number, "name": name} for name, number in sorted(ids.items(), key=lambda pair: pair[1])]
    path.write_text(json.dumps({"version": 1, "classes": classes}, indent=1), encoding="utf-8")


def read_class_ids(path: Path) -> dict[str, int]:
    """The numbers in ``classes.json``; none if there is no such file."""
    if not path.exists():
        return {}
    from grande_gnn.internal.schema import (
        integer,
        list_of,
        record,
        text,
    )  # imports numpy, which a command's help should not load

    entry = record({"id": integer(0, 10_000_000), "name": text(surrogates=True)}, more=True)
    try:
        content = read_json(path)
        record({"classes": list_of(entry)}, more=True)(content, path.name)
        classes = content["classes"]
        ids = {one["name"]: one["id"] for one in classes}
        if len(set(ids.values())) != len(classes):
            raise ValueError("a number or a name that is used twice")
    except (OSError, ValueError) as error:
        raise FileFormatError(
            f"{path} must list classes with an id and a name each, all different: repair it, or move it away to "
            f"number the classes anew; got {' '.join(str(error).split())}"
        ) from None
    return ids
