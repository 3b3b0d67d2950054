"""CSV files hold whatever a file may be called."""

import csv
import os

import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.csv_file import read_csv, write_csv

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
    assert [row["file"] for row in read_csv(tmp_path / "f.csv", ["file"])] == NAMES


def test_rows_that_fail_leave_the_old_file(tmp_path):
    (tmp_path / "f.csv").write_text("old")

    def rows():
        yield ["a"]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_csv(tmp_path / "f.csv", ["file"], rows())
    assert os.listdir(tmp_path) == ["f.csv"]
    assert (tmp_path / "f.csv").read_text() == "old"


def test_bytes_that_are_not_utf_8_are_kept(tmp_path):
    write_csv(tmp_path / "t.csv", ["file"], [[os.fsdecode(b"caf\xe9.jpg")]])
    assert (tmp_path / "t.csv").read_bytes() == b"file\r\ncaf\xe9.jpg\r\n"


def test_a_byte_order_mark_and_short_rows_are_understood(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbffile,label\r\na.jpg\r\n")
    assert read_csv(tmp_path / "t.csv", ["file", "label"]) == [{"file": "a.jpg", "label": ""}]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"file\r\n", "needs the columns file, label; got file$"),
        (b"", "got an empty file$"),
        (
            b"file,label,label\r\na,b,c\r\n",
            "must not have two columns with the same name; got 'label' twice$",
        ),
        (b"file,label\r\n" + b"a" * 200_000 + b",b\r\n", "cannot be read; got field larger than"),
        (None, "cannot be read"),
    ],
)
def test_what_is_missing_is_reported(tmp_path, content, expected):
    if content is not None:
        (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(FileFormatError, match=expected):
        read_csv(tmp_path / "t.csv", ["file", "label"])
