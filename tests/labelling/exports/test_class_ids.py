import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grande_gnn.errors import FileFormatError
from grande_gnn.labelling.exports.class_ids import class_list, read_class_ids, updated_ids, write_class_ids

NAMES = st.lists(st.text(max_size=3), max_size=6)


@settings(max_examples=50, deadline=None)
@given(st.lists(NAMES, max_size=4))
def test_no_number_ever_changes_or_is_used_twice(rounds):
    ids = {}
    for labels in rounds:
        new = updated_ids(ids, labels)
        assert ids.items() <= new.items()
        assert set(labels) - {""} <= set(new)
        assert sorted(new.values()) == list(range(len(new)))
        ids = new


def test_a_renamed_class_keeps_its_number_and_a_merged_one_takes_none():
    ids = {"cat": 0, "dog": 1, "cow": 2}
    assert updated_ids(ids, ["tiger", "dog"], {"cat": "tiger"}) == {"tiger": 0, "dog": 1, "cow": 2}
    assert updated_ids(ids, ["dog"], {"cat": "dog"}) == ids  # cat is unused from now on
    swapped = updated_ids(ids, ["x"], {"cat": "x", "dog": "x"})
    assert swapped == {"x": 0, "dog": 1, "cow": 2}


def test_gaps_have_no_name():
    assert class_list({"b": 2, "a": 0}) == ["a", "", "b"]
    assert class_list({}) == []


def test_the_file_is_read_back(tmp_path):
    ids = {"ü\n": 1, "<b>": 0, "\udcff": 4}
    write_class_ids(tmp_path / "classes.json", ids)
    assert read_class_ids(tmp_path / "classes.json") == ids
    assert read_class_ids(tmp_path / "nothing.json") == {}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"classes": [{"id": 0, "name": "a"}, {"id": 0, "name": "b"}]}',
        '{"classes": [{"id": -1, "name": "a"}]}',
        '{"classes": [{"id": 0, "name": "a"}, {"id": 1, "name": "a"}]}',
        "[" * 100_000,
        '{"classes": [{"id": 1e999, "name": "a"}]}',
        '{"classes": [{"id": 99999999999, "name": "a"}]}',  # a list of that length is made of them
        '{"classes": [{"id": "0", "name": "a"}]}',
        '{"classes": [{"id": 0, "name": 3}]}',
    ],
)
def test_a_file_of_somebody_else_is_refused(tmp_path, text):
    (tmp_path / "classes.json").write_text(text)
    with pytest.raises(FileFormatError, match="must list classes"):
        read_class_ids(tmp_path / "classes.json")
