"""CSV files whose cells may be file names of any kind."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.files import write_atomically

__all__ = ["read_csv", "write_csv"]


def write_csv(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file in UTF-8, atomically; a file name that is not Unicode is written as its bytes on disk."""

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
        writer = csv.writer(text)
        writer.writerow(header)
        writer.writerows(rows)
        text.detach()

    write_atomically(path, write)


def read_csv(path: str | Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV that :func:`write_csv` wrote; it must have these columns and may have others."""
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.DictReader(file, restval="")
            found = list(reader.fieldnames or [])
            rows = list(reader)
    except (OSError, csv.Error, ValueError) as error:
        raise FileFormatError(f"{path} cannot be read; got {' '.join(str(error).split())}") from None
    if twice := [name for name in found if name and found.count(name) > 1]:
        raise FileFormatError(
            f"{path} must not have two columns with the same name; got {twice[0][:80]!r} twice"
        )
    if any(name not in found for name in columns):
        raise FileFormatError(
            f"{path} needs the columns {', '.join(columns)}; got {_shown(found) or 'an empty file'}"
        )
    return rows


def _shown(names: list[str]) -> str:
    """Column names in one line of bounded length."""
    return " ".join(", ".join(names).split())[:200]
