"""Files that cannot be used, each with its reason: listed, never fatal."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grande_gnn.images.atomic import atomic_path

__all__ = ["Problem", "count_problems", "write_problems"]


@dataclass(frozen=True)
class Problem:
    """A file, its path relative to the image folder where it lies inside, and what is wrong with it."""

    file: str
    reason: str


def write_problems(path: str | Path, problems: Iterable[Problem]) -> None:
    """Write ``problems.csv``: ``file,reason``, one row a problem."""
    # surrogateescape: a file name that is not valid UTF-8 is written as the bytes it has on disk.
    with (
        atomic_path(path) as part,
        open(part, "w", newline="", encoding="utf-8", errors="surrogateescape") as out,
    ):
        writer = csv.writer(out)
        writer.writerow(["file", "reason"])
        writer.writerows([problem.file, problem.reason] for problem in problems)


def count_problems(problems: Iterable[Problem]) -> list[tuple[str, int]]:
    """How often each kind of reason occurs, most frequent first; a kind is the text before the colon.

    >>> count_problems([Problem("a", "damaged: no end"), Problem("b", "empty"), Problem("c", "empty")])
    [('empty', 2), ('damaged', 1)]
    """
    return Counter(problem.reason.split(":")[0] for problem in problems).most_common()
