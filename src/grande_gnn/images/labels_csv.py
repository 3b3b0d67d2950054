"""Labels from a CSV file: ``file,label``, one row per image, blank = unlabelled."""

from __future__ import annotations

import csv
import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.images.problems import Problem
from grande_gnn.internal.table_file import (
    decode_table,
    find_column,
    header_text,
    read_table,
    split_table,
    western,
)

__all__ = ["LABEL_COLUMNS", "has_label_columns", "read_label_csv"]

_FILE_COLUMNS = (r"(file|image|img|photo|picture)(file)?(name|path)?", r"path", r"(image|img)?id", r"name")
LABEL_COLUMNS = (r"(class)?labels?", r"class(name)?|category", r"target|species|annotation|tag|y")
"""Patterns of column names in lower case, without punctuation; earlier ones have priority."""


@dataclass(frozen=True)
class _Row:
    line: int
    file: str
    label: str


def read_label_csv(path: Path, root: Path, files: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """The label of each of ``files`` (paths relative to ``root``); ``""`` if the CSV has no label for it.

    A path is absolute, or relative to the CSV's folder or to ``root``. A bare name, with or without suffix, is enough if
    only one file has it. Columns are found by their names, ignoring case and punctuation (``File Name``,
    ``class_label``); a CSV with two columns and no known names is read as file, label. A file with two different labels
    is left unlabelled.
    """
    finder = _FileFinder(path.parent, root, files)
    given: dict[int, list[_Row]] = {}
    problems = []
    rows = _read_rows(path, finder)
    for row in rows:
        index = finder.find(row.file)
        if index is not None:
            given.setdefault(index, []).append(row)
        else:
            problems.append(
                Problem(row.file.strip(), f"no such image: line {row.line} of {path.name} names it")
            )
    if rows and not given:
        raise InvalidInputError(
            f"none of the files named in {path} was found: paths must be relative to {path.parent} "
            f"or to {root}; got {rows[0].file[:200]!r} in line {rows[0].line}"
        )
    labels = [""] * len(files)
    for index, named in given.items():
        distinct = sorted({row.label for row in named if row.label})
        if len(distinct) == 1:
            labels[index] = distinct[0]
        elif distinct:
            lines = " and ".join(str(row.line) for row in named)
            reason = (
                f"two labels: {' and '.join(distinct)} (lines {lines} of {path.name}), so taken as unlabelled"
            )
            problems.append(Problem(files[index], reason))
    return labels, problems


def has_label_columns(path: Path) -> bool:
    """Whether the first line of a CSV names a column with files and one with labels."""
    try:
        with open(path, "rb") as file:
            header = split_table(decode_table(file.read(1 << 16)).partition("\n")[0])
    except (OSError, csv.Error):
        return False
    return any(None not in _named_columns(cells) for _, cells in header[:1])


class _FileFinder:
    """Finds the file that a CSV names: by path first, then by name, then by name without suffix."""

    def __init__(self, csv_folder: Path, root: Path, files: Sequence[str]) -> None:
        self._folders = [csv_folder.absolute(), root.absolute()]
        self._root = root.absolute()
        self._by_path = {_normal(file): index for index, file in enumerate(files)}
        self._by_name = _unique(PurePosixPath(file).name for file in files)
        self._by_stem = _unique(PurePosixPath(file).stem for file in files)

    def find(self, name: str) -> int | None:
        plain = western(name.strip())
        for candidate in dict.fromkeys((name, plain, plain.replace("\\", "/"))):
            for folder in self._folders:
                relative = _relative(folder / candidate, self._root)
                if (index := self._by_path.get(_normal(relative))) is not None:
                    return index
            if "/" not in candidate:
                key = _normal(candidate)
                index = self._by_name.get(key, self._by_stem.get(key))
                if index is not None:
                    return index
        return None


def _relative(path: Path, root: Path) -> str:
    """``path`` relative to ``root``; ``""`` if it is outside."""
    try:
        return os.path.relpath(path, root).replace(os.sep, "/")
    except ValueError:  # Windows: another drive
        return ""


def _unique(names: Iterable[str]) -> dict[str, int]:
    index: dict[str, int] = {}
    repeated = set()
    for position, name in enumerate(map(_normal, names)):
        if name in index:
            repeated.add(name)
        index[name] = position
    return {name: position for name, position in index.items() if name not in repeated}


def _normal(name: str) -> str:
    """The name in Unicode normal form C: macOS and other systems spell accented letters differently."""
    return unicodedata.normalize("NFC", name)


def _read_rows(path: Path, finder: _FileFinder) -> list[_Row]:
    lines = read_table(path, "labels file")
    if not lines:
        raise FileFormatError(
            f"the labels file {path} needs the columns file and label and one row per image; got an empty file"
        )
    header = lines[0][1]
    columns = _columns(header)
    if columns is not None:
        lines = lines[1:]
    elif len(header) == 2 and finder.find(header[0]) is not None:
        columns = (0, 1)
    else:
        raise FileFormatError(
            f"the labels file {path} needs a column named file and one named label; got the columns "
            f"{header_text(header)}"
        )
    return [_row(number, cells, *columns) for number, cells in lines if len(cells) > columns[0]]


def _row(line: int, cells: list[str], file: int, label: int) -> _Row:
    return _Row(line, cells[file], western(cells[label].strip()) if len(cells) > label else "")


def _columns(header: list[str]) -> tuple[int, int] | None:
    """The positions of the file and of the label column."""
    file, label = _named_columns(header)
    if len(header) == 2 and file is None and label is not None:  # the remaining column is the other one
        file = 1 - label
    elif len(header) == 2 and label is None and file is not None:
        label = 1 - file
    return None if file is None or label is None else (file, label)


def _named_columns(header: list[str]) -> tuple[int | None, int | None]:
    return find_column(header, _FILE_COLUMNS), find_column(header, LABEL_COLUMNS)
