"""JSON of another's making is read exactly, or refused with one sentence."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.internal import json_file
from grande_gnn.internal.json_file import MAX_DEPTH, json_lines, parse_json, read_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_whatever_json_can_write_is_read_as_json_reads_it(value):
    assert parse_json(json.dumps(value)) == json.loads(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": 1, "a": 2}', "name a field twice; got 'a'"),
        ('{"b": {"a": 1, "a": 1}}', "name a field twice"),
        ("[NaN]", "finite numbers; got NaN"),
        ("[Infinity]", "finite numbers; got Infinity"),
        ("[-Infinity]", "finite numbers; got -Infinity"),
        ("[1e999]", "finite numbers; got 1e999"),
        ("[-1e999]", "finite numbers"),
        ("[18446744073709551616]", "integers below 2 to the 64th"),
        ("[" + "9" * 5000 + "]", "integers below 2 to the 64th"),
        ("[" * 100_000 + "]" * 100_000, "nested at most"),
        ('{"a":' * 500 + "1" + "}" * 500, "nested at most"),
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[1,]", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[1]\n[2]", "not JSON"),
    ],
)
def test_what_is_refused(text, sentence):
    with pytest.raises(InvalidInputError, match=sentence) as caught:
        parse_json(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("depth", [1, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 3 * MAX_DEPTH])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_the_depth_is_counted_exactly(depth, pair):
    inner = "[" * depth + "]" * depth if pair == "[]" else '{"[{": ' * depth + "1" + "}" * depth
    if depth <= MAX_DEPTH:
        parse_json(inner)
    else:
        with pytest.raises(InvalidInputError, match="nested at most"):
            parse_json(inner)


def test_brackets_side_by_side_or_in_texts_are_not_deep():
    assert len(parse_json(json.dumps([[]] * 1000))) == 1000
    assert parse_json(json.dumps(['["{' * 1000, '\\"[' * 1000])) == ['["{' * 1000, '\\"[' * 1000]


def test_nan_is_accepted_only_on_request_and_infinity_never():
    assert math.isnan(parse_json("NaN", allow_nan=True))
    with pytest.raises(InvalidInputError, match="finite"):
        parse_json("Infinity", allow_nan=True)


def test_a_large_file_is_refused_by_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(json_file, "MAX_BYTES", 1 << 20)
    path = tmp_path / "large.json"
    path.write_bytes(b" " * (1 << 20) + b"1")
    with pytest.raises(FileFormatError, match=r"smaller than 1 MiB; got 1048577 bytes"):
        read_json(path)
    with pytest.raises(InvalidInputError, match="smaller than"):
        parse_json(path.read_bytes())


def test_a_file_is_named_in_its_error(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[1, 2]")
    assert read_json(path) == [1, 2]
    path.write_text("[1, ")
    with pytest.raises(FileFormatError, match=r"a\.json: not JSON"):
        read_json(path)
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "absent")


def test_lines_are_values_and_errors_name_the_line():
    assert json_lines(b"1\n[2]\n", "x.jsonl") == [1, [2]]
    assert json_lines(b"", "x.jsonl") == []
    with pytest.raises(FileFormatError, match=r"x\.jsonl, line 2: not JSON"):
        json_lines(b"1\n[2\n3\n", "x.jsonl")
