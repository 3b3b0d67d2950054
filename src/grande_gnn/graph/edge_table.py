"""A graph as a table of edges, one per line: ``source,target`` and perhaps ``weight``.

Ends are names of samples, or row numbers counted from 0. A first line that names the columns may be missing: then the
columns are source, target and, if there is a third, weight.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.table_file import Line, find_column, header_text, read_table

__all__ = ["EdgeTable", "read_edge_table"]

_SOURCE = (r"sources?(id|node|file|name)?", r"src", r"from(id|node|file|name)?", r"node1|i|u|a|left")
_TARGET = (
    r"targets?(id|node|file|name)?",
    r"dst|dest(ination)?",
    r"to(id|node|file|name)?",
    r"node2|j|v|b|right",
)
_WEIGHT = (r"(edge)?weights?", r"w|value|strength|score|similarity|distance")
"""Patterns of column names in lower case, without punctuation; earlier ones have priority."""


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges by row numbers, as they are in the file: directions, repetitions and loops included."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64] | None


def read_edge_table(
    path: str | os.PathLike[str], n_nodes: int, names: Sequence[str] | None = None
) -> EdgeTable:
    """Read a table of edges.

    Parameters
    ----------
    path : the file.
    n_nodes : the number of samples.
    names : the names of the samples. If every end is one of them, ends are names; otherwise they are row numbers.
    """
    lines = read_table(Path(path), "edges file")
    if not lines:
        raise FileFormatError(
            f"{path} must have one edge per line, as source,target; got an empty file: a graph without edges spreads nothing"
        )
    columns, lines = _columns(path, lines, set(names or ()))
    ends = [_ends(path, line, columns) for line in lines]
    sources, targets = _numbers(path, lines, ends, n_nodes, names)
    weights = None
    if columns[2] is not None:
        weights = np.array([_weight(path, line, columns[2]) for line in lines])
    return EdgeTable(sources, targets, weights)


def _columns(
    path: str | os.PathLike[str], lines: list[Line], names: set[str]
) -> tuple[tuple[int, int, int | None], list[Line]]:
    """The positions of source, target and weight, and the lines with edges."""
    first = lines[0][1]
    source, target = find_column(first, _SOURCE), find_column(first, _TARGET)
    if source is not None and target is not None and not {first[source], first[target]} <= names:
        return (source, target, find_column(first, _WEIGHT)), lines[1:]
    if len(first) in (2, 3) and all(cell.strip() in names or cell.strip().isdecimal() for cell in first[:2]):
        return (0, 1, 2 if len(first) == 3 else None), lines
    raise FileFormatError(
        f"{path} must have the columns source and target (and weight), or two or three columns without names; "
        f"got {header_text(first)}"
    )


def _ends(path: str | os.PathLike[str], line: Line, columns: tuple[int, int, int | None]) -> tuple[str, str]:
    number, cells = line
    if max(columns[:2]) >= len(cells):
        raise FileFormatError(f"every line of {path} must have a source and a target; got line {number}")
    return cells[columns[0]].strip(), cells[columns[1]].strip()


def _numbers(
    path: str | os.PathLike[str],
    lines: list[Line],
    ends: list[tuple[str, str]],
    n_nodes: int,
    names: Sequence[str] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of sources and targets."""
    row_of = {name: row for row, name in enumerate(names or ())}
    if not all(end in row_of for pair in ends for end in pair):
        no_rows = [(i, end) for i, pair in enumerate(ends) for end in pair if not _is_row(end, n_nodes)]
        strange = next((found for found in no_rows if found[1] not in row_of), next(iter(no_rows), None))
        if strange is not None:
            raise FileFormatError(
                f"{path} must join samples that have features, by their names or by row numbers from 0 to {n_nodes - 1}: "
                f"is it the graph of other samples? got {strange[1][:80]!r} in line {lines[strange[0]][0]}"
            )
        row_of = {end: int(end) for pair in ends for end in pair}
    found = np.array([[row_of[source], row_of[target]] for source, target in ends], dtype=np.int64)
    found = found.reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _is_row(end: str, limit: int) -> bool:
    return end.isascii() and end.isdecimal() and len(end) <= 10 and int(end) < limit


def _weight(path: str | os.PathLike[str], line: Line, column: int) -> float:
    number, cells = line
    cell = cells[column].strip() if column < len(cells) else ""
    try:
        weight = float(cell)
    except ValueError:
        weight = np.nan
    if not np.isfinite(weight):
        raise FileFormatError(
            f"the weights in {path} must be finite numbers; got {cell[:80]!r} in line {number}"
        )
    return weight
