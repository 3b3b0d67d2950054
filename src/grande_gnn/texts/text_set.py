"""Read texts with their names and labels from one of three sources:

texts.csv    a table; one or more columns hold the text (``columns`` of :func:`read_texts`), and one may hold the label
texts.jsonl  one JSON object per line, with the same names
folder       files named ``*.txt``; labels are class folders or a CSV, as for images

The name of a text is its file, the value of a column called id, or the number of its row, counted from 1. Rows without a
text and lines that are not a JSON object are listed as problems, and do not stop the run.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.images.find import FolderFiles, find_samples, has_image_suffix, walk
from grande_gnn.images.labels_csv import LABEL_COLUMNS, label_source, read_label_csv
from grande_gnn.images.problems import Problem
from grande_gnn.internal.table_file import decode_table, find_column, header_text, read_table, western

__all__ = ["LONGEST", "TextSet", "are_texts", "read_texts"]

LONGEST = 100_000
"""Characters of a text that are read: about forty pages."""

_LONGEST_CELL = 1 << 26
"""Characters of a cell: longer texts are cut, and even more are taken for a damaged table."""

_TABLES = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")
_ID = (r"id|uid|key", r"(text|doc|document)?id", r"file(name)?|path|name")
_TEXT = (r"text|body|content|message|document|sentence",)
_LABEL = tuple(LABEL_COLUMNS)

Row = tuple[int, Mapping[str, str]]
"""The number of a line and its values by column."""


@dataclass(frozen=True)
class TextSet:
    """Texts in a stable order, with the problems that were found."""

    source: Path
    names: list[str]
    texts: list[str]
    labels: list[str]
    """The label of each text; ``""`` = unlabelled."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences that explain how the source was understood."""

    def __len__(self) -> int:
        return len(self.texts)

    def summary(self, n_examples: int = 10) -> str:
        """Counts and the first texts, as text to print."""
        counts = Counter(label for label in self.labels if label)
        lines = [
            f"{len(self)} {'text' if len(self) == 1 else 'texts'} in {self.source}: {sum(counts.values())} labelled "
            f"in {len(counts)} {'class' if len(counts) == 1 else 'classes'}, "
            f"{len(self) - sum(counts.values())} unlabelled.",
            *self.notes,
            *(f"  {name}: {count}" for name, count in sorted(counts.items())),
        ]
        for name, label, text in list(zip(self.names, self.labels, self.texts, strict=True))[:n_examples]:
            lines.append(f"  {name}  {label or '(unlabelled)'}  {' '.join(text.split())[:80]}")
        n = len(self.problems)
        return "\n".join([*lines, *([f"{n} {'problem' if n == 1 else 'problems'}"] if n else [])])


def are_texts(path: str | Path) -> bool:
    """Whether the path is a table, lines of JSON, or a folder that has ``.txt`` files and no images."""
    place = Path(path)
    if not place.is_dir():
        return place.suffix.lower() in (*_TABLES, *_LINES)
    seen = False
    for _, _, files in os.walk(place):
        if any(
            has_image_suffix(file) for file in files
        ):  # a folder of a million images is not walked through
            return False
        seen = seen or any(_is_text_file(file) for file in files)
    return seen and not walk(place).images


def read_texts(
    path: str | Path,
    columns: Sequence[str] = (),
    labels: str | Path | None = None,
    *,
    uses_labels: bool = True,
) -> TextSet:
    """Read texts from a file or a folder.

    Parameters
    ----------
    path : the file or folder.
    columns : the columns that hold the text; several are joined by a line break. By default, a column called text, or
        similar. If a table has no header, columns are given as numbers, counted from 1.
    labels : a CSV with the columns ``file`` (the name of a text) and ``label``. By default, labels come from a column called
        label, or similar, or from the class folders.
    uses_labels : whether labels are looked for; without them, all texts are unlabelled.
    """
    place = Path(path)
    if place.is_dir():
        return _read_folder(place, columns, labels, uses_labels)
    if not place.is_file():
        raise InvalidInputError(f"texts must be in a file or a folder that exists; got {path}")
    rows, names = _read_lines(place) if place.suffix.lower() in _LINES else _read_table(place, columns)
    texts = _assembled(place, rows, names, columns)
    if not uses_labels:
        return replace(texts, labels=[""] * len(texts), notes=texts.notes[:1])
    return _with_labels(texts, labels)


def _is_text_file(file: str) -> bool:
    return file.lower().endswith(".txt")


def _read_folder(
    folder: Path, columns: Sequence[str], labels: str | Path | None, uses_labels: bool
) -> TextSet:
    if columns:
        raise InvalidInputError(
            f"a folder of .txt files has no columns: leave --text out; got {', '.join(columns)}"
        )
    found = find_samples(folder, labels, _divided, "files named *.txt", "a text", uses_labels=uses_labels)
    kept, texts, problems = [], [], list(found.problems)
    for file, label in zip(found.files, found.labels, strict=True):
        try:
            with open(folder / file, "rb") as stream:
                text = western(decode_table(stream.read(4 * LONGEST + 4)))
        except OSError as error:
            problems.append(Problem(file, f"cannot be read: {error.strerror}"))
            continue
        text = _cleaned(text, file, problems)
        if text:
            kept.append((file, label))
            texts.append(text)
    return TextSet(
        folder, [file for file, _ in kept], _needed(texts, folder), [label for _, label in kept], problems, found.notes,
    )  # fmt: skip


def _divided(found: FolderFiles) -> tuple[list[str], list[str]]:
    """The texts and the other files of a folder."""
    others = [file for file in found.others if not _is_text_file(file)]
    return [file for file in found.others if _is_text_file(file)], [*found.images, *others]


def _read_table(path: Path, columns: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The rows of a table and the names of its columns, which are numbers if it has no header."""
    lines = read_table(path, "file of texts", _LONGEST_CELL)
    if not lines:
        raise FileFormatError(f"{path} must have one text per row; got an empty file")
    header = [western(cell).strip() for cell in lines[0][1]]
    are_numbers = all(c.isdecimal() and 1 <= int(c) <= len(header) for c in columns)
    if columns and are_numbers and not all(c in header for c in columns):
        names = [str(i + 1) for i in range(len(header))]
    else:
        names, lines = header, lines[1:]
    rows: list[Row] = [
        (number, dict(zip(names, map(western, cells), strict=False))) for number, cells in lines
    ]
    return rows, names


def _read_lines(path: Path) -> tuple[list[Row], list[str]]:
    """The objects of a file with one JSON object per line; a line that is not an object becomes an empty row."""
    rows: list[Row] = []
    names: dict[str, None] = {}
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"the file of texts {path} cannot be read; got {error.strerror}") from None
    for number, line in enumerate(content.decode("utf-8-sig", errors="replace").split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        record = {k: _plain(v) for k, v in found.items()} if isinstance(found, dict) else {}
        rows.append((number, record))
        names |= dict.fromkeys(record)
    if not names:
        raise FileFormatError(f"{path} must have one JSON object per line; got {len(rows)} lines without any")
    return rows, list(names)


def _plain(value: Any) -> str:
    """A JSON value as text; empty if it is neither text nor a number."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def _assembled(path: Path, rows: list[Row], names: list[str], columns: Sequence[str]) -> TextSet:
    """Make a text set from the rows of a table."""
    wanted = list(columns)
    if not wanted:
        place = find_column(names, _TEXT)
        wanted = [] if place is None else [names[place]]
    missing = [name for name in wanted if name not in names]
    if missing or not wanted:
        raise InvalidInputError(
            f"name the column of {path} that holds the text with --text: one of {header_text(names)}; "
            f"got {missing[0] if missing else 'none'}"
        )
    others = [name for name in names if name not in wanted]
    key, label = ((None if (i := find_column(others, p)) is None else others[i]) for p in (_ID, _LABEL))
    ids = _ids(rows, key)
    kept: list[tuple[str, str, str]] = []
    problems: list[Problem] = []
    for name, (number, row) in zip(ids, rows, strict=True):
        text = "\n".join(part for column in wanted if (part := row.get(column, "").strip()))
        text = _cleaned(text, name, problems, f"line {number} of {path.name}")
        if text:
            kept.append((name, text, "" if label is None else row.get(label, "").strip()))
    notes = [f"Texts are read from the {'columns' if len(wanted) > 1 else 'column'} {', '.join(wanted)}."]
    if any(one for _, _, one in kept):
        notes.append(f"Labels are read from the column {label}.")
    texts = _needed([text for _, text, _ in kept], path)
    return TextSet(path, [n for n, _, _ in kept], texts, [one for _, _, one in kept], problems, notes)


def _ids(rows: list[Row], key: str | None) -> list[str]:
    """The names of rows: the values of a column if all of them differ, otherwise the numbers of the rows."""
    if key is not None:
        found = [row.get(key, "").strip() for _, row in rows]
        if all(found) and len(set(found)) == len(found) and max(map(len, found), default=0) < 200:
            return found
    return [str(i + 1) for i in range(len(rows))]


def _cleaned(text: str, name: str, problems: list[Problem], place: str = "") -> str:
    """The text without control characters, or ``""`` with a problem if nothing is left."""
    where = f" ({place})" if place else ""
    if len(text) > LONGEST:
        problems.append(Problem(name, f"long: only the first {LONGEST} characters are used{where}"))
        text = text[:LONGEST]
    text = "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") else " " for c in text)
    if not text.strip():
        problems.append(Problem(name, f"no text{where}"))
        return ""
    return text.strip()


def _needed(texts: list[str], path: Path) -> list[str]:
    if not texts:
        raise InvalidInputError(f"{path} must have at least one text; got none")
    return texts


def _with_labels(texts: TextSet, labels: str | Path | None) -> TextSet:
    """Replace the labels by those of a CSV, if one is given."""
    if labels is None:
        return texts
    found, problems = read_label_csv(Path(labels), texts.source.parent, texts.names)
    notes = [*texts.notes[:1], label_source(Path(labels))]
    return replace(texts, labels=found, problems=[*texts.problems, *problems], notes=notes)
