"""Tables of any separator and encoding come out as cells."""

import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.table_file import find_column, header_text, read_table, western


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separators_and_encodings(tmp_path, separator, encoding):
    (tmp_path / "t.csv").write_bytes(f'a{separator}"é{separator}x"\n\n1{separator}2\n'.encode(encoding))
    assert read_table(tmp_path / "t.csv", "table") == [(1, ["a", f"é{separator}x"]), (3, ["1", "2"])]


def test_what_cannot_be_read_is_refused_in_one_line(tmp_path):
    with pytest.raises(FileFormatError, match=r"the labels file .*absent\.csv cannot be read; got .*No such"):
        read_table(tmp_path / "absent.csv", "labels file")
    (tmp_path / "long.csv").write_text("x" * 200_000)
    with pytest.raises(FileFormatError, match=r"cannot be read; got field larger"):
        read_table(tmp_path / "long.csv", "table")
    assert len(read_table(tmp_path / "long.csv", "table", 200_000)[0][1][0]) == 200_000


@pytest.mark.parametrize(
    ("content", "line"),
    [('a,b\n1,"x\n2,y\n3,z\n', 2), ('"a,b\n1,x', 1), ('a,b\n"1","x"\n2,"y', 3), ('a,"b\r\n1,x\r\n', 1)],
)
def test_a_quotation_mark_that_is_never_closed_does_not_swallow_the_rest(tmp_path, content, line):
    (tmp_path / "t.csv").write_bytes(content.encode())
    with pytest.raises(FileFormatError, match=f"quotation mark in or after line {line} that is never closed"):
        read_table(tmp_path / "t.csv", "table")


def test_quotation_marks_that_are_closed_or_inside_are_cells(tmp_path):
    (tmp_path / "t.csv").write_text('a,"b\nc"\n5" disk,"say ""hi"""\nend,"z"')
    assert [cells for _, cells in read_table(tmp_path / "t.csv", "table")] == [
        ["a", "b\nc"], ['5" disk', 'say "hi"'], ["end", "z"],
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"PK\x03\x04 spreadsheet", "a,b\n1,2\n".encode("utf-16-le")])
def test_what_is_no_text_is_called_so(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(FileFormatError, match="is not text: save the table as CSV"):
        read_table(tmp_path / "t.csv", "table")


def test_a_cell_of_a_western_spreadsheet(tmp_path):
    (tmp_path / "t.csv").write_bytes("Käfer,1".encode("cp1252"))
    ((_, cells),) = read_table(tmp_path / "t.csv", "table")
    assert western(cells[0]) == "Käfer"
    assert western("plain") == "plain"


def test_earlier_patterns_and_then_earlier_columns_have_priority():
    assert find_column(["Name", "File Name", "FILE"], ["file(name)?", "name"]) == 1
    assert find_column(["a", "b"], ["c"]) is None


def test_a_header_is_shown_in_one_bounded_line():
    assert header_text(["a\nb", " ", "c"]) == "a b, (blank), c"
    assert len(header_text(["x" * 500])) == 200
