"""Labels from a CSV file: ``file,label``, one row per image, blank = unlabelled."""

from __future__ import annotations

import csv
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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

__all__ = ["LABEL_COLUMNS", "has_label_columns", "label_notes", "label_source", "read_label_csv"]

_FILE_COLUMNS = (r"(file|image|img|photo|picture)(file)?(name|path)?", r"path", r"(image|img)?id", r"name")
LABEL_COLUMNS = (
    r"givenlabel",
    r"(class)?labels?",
    r"class(name)?|category",
    r"target|species|annotation|tag|y",
)
"""Patterns of column names in lower case, without punctuation; earlier ones have priority. The column ``label`` of a
predictions.csv has predictions too, so its ``given_label`` comes first."""

_MISSING = frozenset({"nan", "na", "n/a", "none", "null", "unlabelled", "unlabeled", "-1", "?"})
"""What people and programs write into cells without a label. Each may also be a class, so these are only pointed out."""

_WIDEST = 80
"""Characters of a label that a note shows."""


@dataclass(frozen=True)
class _Row:
    line: int
    file: str
    label: str


def read_label_csv(path: Path, root: Path, files: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """The label of each of ``files`` (paths relative to ``root``); ``""`` if the CSV has no label for it.

    A path is absolute, or relative to the CSV's folder or to ``root``. A bare name, with or without suffix, is enough if
    only one file has it. If no file has exactly this path or name, case is ignored, as long as only one file fits. Columns
    are found by their names, ignoring case and punctuation (``File Name``, ``class_label``); a CSV with two columns and no
    known names is read as file, label. A file with two different labels is left unlabelled.
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


def label_source(path: Path) -> str:
    """The sentence about where labels are read from."""
    predicted = " the column given_label of" if _is_predictions(_header(path)) else ""
    return f"Labels are read from{predicted} {path}."


def label_notes(labels: Iterable[str]) -> list[str]:
    """Sentences about labels in a table that may be slips.

    >>> label_notes(["rose", "Rose", "rose", ""])
    ['rose and Rose are two classes that differ in case only: use one spelling if they are the same.']
    """
    names = [name for name, _ in Counter(label for label in labels if label).most_common()]
    notes = []
    missing = [name for name in names if name.casefold() in _MISSING]
    if len(missing) == 1:
        notes.append(f"A class is called {missing[0]}: if that means unlabelled, leave its cells empty.")
    elif missing:
        notes.append(
            f"Classes are called {' and '.join(missing)}: if that means unlabelled, leave their cells empty."
        )
    spellings: dict[str, str] = {}
    for name in names:
        first = spellings.setdefault(name.casefold(), name)
        if first != name:  # one pair is enough to make the user look at the table
            notes.append(
                f"{_shown(first)} and {_shown(name)} are two classes that differ in case only: "
                "use one spelling if they are the same."
            )
            break
    return notes


def _shown(label: str) -> str:
    line = " ".join(label.split())
    return line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…"


def has_label_columns(path: Path) -> bool:
    """Whether the first line of a CSV names a column with files and one with labels."""
    return None not in _named_columns(_header(path))


def _header(path: Path) -> list[str]:
    """The cells of the first line; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            lines = split_table(decode_table(file.read(1 << 16)).partition("\n")[0])
    except (OSError, csv.Error):
        return []
    return lines[0][1] if lines else []


def _is_predictions(header: list[str]) -> bool:
    return {"label", "given_label"} <= set(header)


class _FileFinder:
    """Finds the file that a CSV names: by path first, then by name, then by name without suffix, at last in any case."""

    def __init__(self, csv_folder: Path, root: Path, files: Sequence[str]) -> None:
        self._folders = [csv_folder.absolute(), root.absolute()]
        self._root = root.absolute()
        self._files = files
        self._by_path = {_normal(file): index for index, file in enumerate(files)}
        self._by_name = _unique(PurePosixPath(file).name for file in files)
        self._by_stem = _unique(PurePosixPath(file).stem for file in files)

    def find(self, name: str) -> int | None:
        plain = western(name.strip())
        candidates = [*dict.fromkeys((name, plain, plain.replace("\\", "/")))]
        for candidate in candidates:
            for relative in self._relatives(candidate):
                if (index := self._by_path.get(_normal(relative))) is not None:
                    return index
            if "/" not in candidate:
                key = _normal(candidate)
                index = self._by_name.get(key, self._by_stem.get(key))
                if index is not None:
                    return index
        return self._find_in_any_case(candidates)

    def _find_in_any_case(self, candidates: Sequence[str]) -> int | None:
        by_path, by_name = self._in_any_case
        for candidate in candidates:
            for relative in self._relatives(candidate):
                if (index := by_path.get(_normal(relative).casefold())) is not None:
                    return index
            if "/" not in candidate and (index := by_name.get(_normal(candidate).casefold())) is not None:
                return index
        return None

    @cached_property
    def _in_any_case(self) -> tuple[dict[str, int], dict[str, int]]:
        """The files by path and by name in lower case: made when first needed, as most tables never need them."""
        paths = [_normal(file).casefold() for file in self._files]
        return _unique(paths), _unique(PurePosixPath(path).name for path in paths)

    def _relatives(self, candidate: str) -> Iterator[str]:
        """The path relative to the root, if it is relative to the CSV's folder or to the root."""
        return (_relative(folder / candidate, self._root) for folder in self._folders)


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
