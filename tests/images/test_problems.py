"""Problems are listed in a CSV and counted by kind."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from grande_gnn.images import Problem, write_problems
from grande_gnn.images.problems import count_problems


def test_each_problem_is_a_row(tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff.jpg")
    write_problems(tmp_path / "p.csv", [Problem("a.jpg", "empty"), Problem(odd, "damaged: no, end")])
    with open(tmp_path / "p.csv", newline="", encoding="utf-8", errors="surrogateescape") as file:
        assert list(csv.reader(file)) == [["file", "reason"], ["a.jpg", "empty"], [odd, "damaged: no, end"]]


def test_without_problems_there_is_a_header(tmp_path: Path) -> None:
    write_problems(tmp_path / "p.csv", [])
    assert (tmp_path / "p.csv").read_text().splitlines() == ["file,reason"]


def test_kinds_are_counted_most_frequent_first() -> None:
    reasons = ["damaged: x", "empty", "damaged: y", "damaged"]
    assert count_problems(Problem("f", reason) for reason in reasons) == [("damaged", 3), ("empty", 1)]
