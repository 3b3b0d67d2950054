"""Files that cannot be used, each with a reason: they are listed, and do not stop the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grande_gnn.internal.csv_file import write_csv

__all__ = ["Problem", "count_problems", "write_problems"]


@dataclass(frozen=True)
class Problem:
    """A file, relative to the image folder if it is inside, and what is wrong with it."""

    file: str
    reason: str


def write_problems(path: str | Path, problems: Iterable[Problem]) -> None:
    """Write a CSV with the columns ``file`` and ``reason``, one row per problem."""
    write_csv(path, ["file", "reason"], ([problem.file, problem.reason] for problem in problems))


def count_problems(problems: Iterable[Problem]) -> list[tuple[str, int]]:
    """How often each kind of problem occurs, most frequent first; the kind is the reason up to its colon.

    >>> count_problems([Problem("a", "damaged: no end"), Problem("b", "empty"), Problem("c", "empty")])
    [('empty', 2), ('damaged', 1)]
    """
    return Counter(problem.reason.split(":")[0] for problem in problems).most_common()
