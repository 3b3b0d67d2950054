"""Tables that people write: CSV files from spreadsheets and scripts, with whatever separator and encoding.

The separator (comma, semicolon or tab) is the one that occurs most often in the first line. The encoding is UTF-8, or
UTF-16 with a byte order mark; a cell that is neither is read with the code page of Western spreadsheets
(:func:`western`). Columns are found by their names, whatever the case and punctuation (:func:`find_column`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from grande_gnn.errors import FileFormatError

__all__ = ["Line", "decode_table", "find_column", "header_text", "read_table", "split_table", "western"]

Line = tuple[int, list[str]]
"""The number of a line, for messages, and its cells."""

_END = "\0end of the table"
"""A line that is appended to the table; it is missed if a quotation mark is never closed."""


def read_table(path: Path, what: str, longest: int = 131_072) -> list[Line]:
    """The lines of a table that are not blank.

    ``what`` names the kind of file in errors, and ``longest`` is the number of characters that a cell may have.
    """
    try:
        data = path.read_bytes()
        if data.startswith(b"PK\x03\x04") or (
            4 * data[:1000].count(0) > len(data[:1000]) and not _has_mark(data)
        ):
            raise FileFormatError(
                f"the {what} {path} is not text: save the table as CSV in UTF-8; got a spreadsheet, an archive, or "
                "UTF-16 without a byte order mark"
            )
        return split_table(decode_table(data), longest)
    except (OSError, csv.Error) as error:
        raise FileFormatError(
            f"the {what} {path} cannot be read; got {' '.join(str(error).split())}"
        ) from None


def split_table(text: str, longest: int = 131_072) -> list[Line]:
    """The line number and the cells of each line that is not blank."""
    usual = csv.field_size_limit(longest)
    try:
        return _lines(text)
    finally:
        csv.field_size_limit(usual)


def _lines(text: str) -> list[Line]:
    separator = max(",;\t", key=text.partition("\n")[0].count)
    # A quotation mark that is never closed makes one cell of the whole rest, and so of the last line, too.
    reader = csv.reader(io.StringIO(f"{text}\n{_END}\n", newline=""), delimiter=separator)
    lines, start = [], 1
    for cells in reader:
        if cells == [_END]:
            break
        if cells and cells[-1].endswith(f"\n{_END}\n"):
            raise csv.Error(f"a quotation mark in or after line {start} that is never closed")
        if any(cell.strip() for cell in cells):
            lines.append((reader.line_num, cells))
        start = reader.line_num + 1
    return lines


def decode_table(data: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a byte order mark, as spreadsheets write it."""
    if _has_mark(data):
        return data.decode("utf-16", errors="replace")
    # A file name need not be valid UTF-8; surrogateescape is how Python represents such a name.
    return data.decode("utf-8-sig", errors="surrogateescape")


def _has_mark(data: bytes) -> bool:
    return data[:2] in (b"\xff\xfe", b"\xfe\xff")


def western(cell: str) -> str:
    """The cell; if it was not UTF-8, decoded with the code page of Western spreadsheets."""
    if any("\udc80" <= character <= "\udcff" for character in cell):
        return cell.encode("utf-8", errors="surrogateescape").decode("cp1252", errors="replace")
    return cell


def find_column(header: Sequence[str], patterns: Sequence[str]) -> int | None:
    """The position of the first column whose name fits a pattern; earlier patterns have priority.

    Names are compared in lower case and without punctuation.

    >>> find_column(["Class Label", "File-Name"], ["file(name)?"])
    1
    """
    names = ["".join(filter(str.isalnum, cell.casefold())) for cell in header]
    for pattern in patterns:
        for position, name in enumerate(names):
            if re.fullmatch(pattern, name):
                return position
    return None


def header_text(header: Sequence[str]) -> str:
    """Column names in one line of bounded length, for messages."""
    return " ".join(", ".join(cell.strip() or "(blank)" for cell in header).split())[:200]
