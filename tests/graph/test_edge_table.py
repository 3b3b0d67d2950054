"""Tables of edges: by name or by row number, with or without a header and weights."""

import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.graph.edge_table import read_edge_table

NAMES = ["a.txt", "b.txt", "7"]


def read(tmp_path, text, n_nodes=3, names=NAMES):
    (tmp_path / "edges.csv").write_text(text, encoding="utf-8")
    table = read_edge_table(tmp_path / "edges.csv", n_nodes, names)
    weights = None if table.weights is None else table.weights.tolist()
    return table.sources.tolist(), table.targets.tolist(), weights


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("source,target\na.txt,b.txt\n7,7\n", ([0, 2], [1, 2], None)),
        ("Target;Weight;Source\nb.txt;0.5;a.txt\n", ([0], [1], [0.5])),
        ("a.txt,b.txt\n7,a.txt\n", ([0, 2], [1, 0], None)),  # no header; 7 is the name of row 2
        ("0,1\n2,2\n", ([0, 2], [1, 2], None)),  # not all are names, so they are rows
        ("from,to,w,comment\n1,0,2,x\n", ([1], [0], [2.0])),
        ("0\t1\t3\n", ([0], [1], [3.0])),
        ("source,target\n", ([], [], None)),
    ],
)
def test_ends_are_found(tmp_path, text, expected):
    assert read(tmp_path, text) == expected


def test_ends_without_names_are_rows(tmp_path):
    assert read(tmp_path, "0,1\n1,1\n", 2, None) == ([0, 1], [1, 1], None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"one edge per line, as source,target; got an empty file"),
        ("paper,citation\na.txt,b.txt\n", r"columns source and target .*; got paper, citation"),
        ("0,1,2,3\n", r"columns source and target .*; got 0, 1, 2, 3"),
        ("source,target\n0,1\n0,3\n", r"row numbers from 0 to 2: is it the graph .* got '3' in line 3"),
        ("source,target\na.txt,c.txt\n", r"by their names .* got 'c\.txt' in line 2"),
        ("source,target\n0,1\n2,b.txt\n", r"got 'b\.txt' in line 3"),  # a name among row numbers
        ("source,target\n-1,0\n", r"got '-1' in line 2"),
        ("source,target\n0,²\n", r"got '²' in line 2"),
        ("source,target\n0,99999999999999999999999\n", r"got '9{23}' in line 2"),
        ("source,target\n0\n", r"must have a source and a target; got line 2"),
        ("source,target,weight\n0,1,heavy\n", r"must be finite numbers; got 'heavy' in line 2"),
        ("source,target,weight\n0,1,nan\n", r"must be finite numbers; got 'nan' in line 2"),
        ("source,target,weight\n0,1\n", r"must be finite numbers; got '' in line 2"),
    ],
)
def test_other_tables_are_refused_in_one_sentence(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
