"""CSV files hold whatever a file may be called."""

import csv
import os

import pytest

from grande_gnn.internal.csv_file import write_csv

NAMES = [
    "plain.jpg",
    'with "quotes", commas.jpg',
    "two\nlines.jpg",
    "größe 花.png",
    os.fsdecode(b"\xe9\xff.png"),
]


def test_any_file_name_comes_back(tmp_path):
    write_csv(tmp_path / "f.csv", ["file", "reason"], ([name, "odd"] for name in NAMES))
    with open(tmp_path / "f.csv", newline="", encoding="utf-8", errors="surrogateescape") as file:
        assert list(csv.reader(file)) == [["file", "reason"], *([name, "odd"] for name in NAMES)]
    assert b"\xe9\xff.png" in (tmp_path / "f.csv").read_bytes()  # as on disk


def test_rows_that_fail_leave_the_old_file(tmp_path):
    (tmp_path / "f.csv").write_text("old")

    def rows():
        yield ["a"]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_csv(tmp_path / "f.csv", ["file"], rows())
    assert os.listdir(tmp_path) == ["f.csv"]
    assert (tmp_path / "f.csv").read_text() == "old"
