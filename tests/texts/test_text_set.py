"""Texts from tables, lines of JSON and folders, and what is none."""

import json

import pytest

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.texts.text_set import LONGEST, are_texts, read_texts


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_columns_are_joined_and_ids_and_labels_found(tmp_path):
    path = write(
        tmp_path / "t.csv",
        'id,title,body,Category\na1,Fox,"jumps,\nhigh",animal\na2,Car,,\na3,,stops,thing\n',
    )
    found = read_texts(path, ["title", "body"])
    assert found.names == ["a1", "a2", "a3"]
    assert found.texts == ["Fox\njumps,\nhigh", "Car", "stops"]
    assert found.labels == ["animal", "", "thing"]
    assert found.notes == [
        "Texts are read from the columns title, body.",
        "Labels are read from the column Category.",
    ]
    assert read_texts(path, ["body"]).names == ["a1", "a3"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_encodings_and_separators_of_spreadsheets(tmp_path, encoding):
    path = write(tmp_path / "t.csv", "Text;Label\nKäse;gut\nWürste;\n", encoding)
    found = read_texts(path)
    assert (found.texts, found.labels, found.names) == (["Käse", "Würste"], ["gut", ""], ["1", "2"])


def test_a_table_without_a_header_has_numbered_columns(tmp_path):
    path = write(tmp_path / "t.csv", '"3","Title","Some text"\n"4","Other","More text"\n')
    found = read_texts(path, ["2", "3"])
    assert found.texts == ["Title\nSome text", "Other\nMore text"]
    assert found.labels == ["", ""]


def test_ids_that_are_not_all_different_are_not_names(tmp_path):
    path = write(tmp_path / "t.csv", "id,text\nx,one\nx,two\n")
    assert read_texts(path).names == ["1", "2"]


def test_lines_of_json(tmp_path):
    lines = [
        json.dumps({"id": 7, "text": "one ünd", "label": "a"}), "", "not json", json.dumps(["text"]),
        json.dumps({"id": 8, "text": None}), json.dumps({"id": 9, "text": "two", "label": 3}), "[" * 100_000,
    ]  # fmt: skip
    found = read_texts(write(tmp_path / "t.jsonl", "\n".join(lines)))
    assert found.texts == ["one ünd", "two"]
    assert found.labels == ["a", "3"]
    assert [problem.reason for problem in found.problems] == [
        f"no text (line {n} of t.jsonl)" for n in (3, 4, 5, 7)
    ]


def test_a_folder_of_files_with_class_folders(tmp_path):
    for name, text in {
        "a/1.txt": "one",
        "a/2.TXT": "two",
        "b/3.txt": "three",
        "4.txt": "four",
        "b/5.txt": " ",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, text)
    write(tmp_path / "notes.md", "other")
    assert are_texts(tmp_path)
    found = read_texts(tmp_path)
    assert dict(zip(found.names, found.labels, strict=True)) == {
        "4.txt": "", "a/1.txt": "a", "a/2.TXT": "a", "b/3.txt": "b",
    }  # fmt: skip
    assert {(problem.file, problem.reason) for problem in found.problems} == {
        ("notes.md", "not a text"), ("b/5.txt", "no text"),
    }  # fmt: skip
    with pytest.raises(InvalidInputError, match=r"no columns.*got body"):
        read_texts(tmp_path, ["body"])
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    assert not are_texts(tmp_path)


def test_labels_of_a_csv_replace_those_of_the_table(tmp_path):
    path = write(tmp_path / "t.csv", "id,text,label\nx,one,a\ny,two,b\n")
    labels = write(tmp_path / "labels.csv", "file,label,text\ny,new,two\nz,a,\n")
    found = read_texts(path, labels=labels)
    assert found.labels == ["", "new"]
    assert [problem.file for problem in found.problems] == ["z"]


def test_labels_that_are_not_wanted_are_not_read(tmp_path):
    path = write(tmp_path / "t.csv", "text,label\none,a\ntwo,b\n")
    texts = read_texts(path, labels=tmp_path / "none.csv", uses_labels=False)
    assert texts.labels == ["", ""]
    assert texts.notes == ["Texts are read from the column text."]
    (tmp_path / "folder" / "a").mkdir(parents=True)
    (tmp_path / "folder" / "a" / "1.txt").write_text("one")
    assert read_texts(tmp_path / "folder", uses_labels=False).labels == [""]


def test_long_texts_are_cut_and_control_characters_replaced(tmp_path):
    path = write(tmp_path / "t.csv", "text\n" + "ab " * 40_000 + "\nx\x00y\x07\u2028z\n")
    found = read_texts(path)
    assert len(found.texts[0]) <= LONGEST
    assert found.texts[1] == "x y \u2028z"
    assert "only the first 100000 characters" in found.problems[0].reason


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("t.csv", "", (), "one text per row; got an empty file"),
        ("t.csv", "title,story\na,b\n", (), r"with --text: one of title, story; got none"),
        ("t.csv", "title,body\na,b\n", ("text",), r"with --text: one of title, body; got text"),
        ("t.csv", "text,label\n,a\n", (), "at least one text; got none"),
        ("t.jsonl", "1\n2\n", (), "one JSON object per line; got 2 lines without any"),
        ("t.jsonl", "", (), "got 0 lines without any"),
        ("t.csv", 'text,label\n"x,a\ny,b\n', (), "quotation mark in or after line 2 that is never closed"),
    ],
)
def test_what_is_no_file_of_texts_is_refused_in_one_sentence(tmp_path, name, content, columns, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_texts(write(tmp_path / name, content), columns)
    assert "\n" not in str(caught.value)


def test_what_does_not_exist(tmp_path):
    with pytest.raises(InvalidInputError, match="must be in a file or a folder that exists"):
        read_texts(tmp_path / "absent.csv")
    (tmp_path / "empty").mkdir()
    assert not are_texts(tmp_path / "empty")
    with pytest.raises(InvalidInputError, match=r"has no files named \*\.txt"):
        read_texts(tmp_path / "empty")
    assert issubclass(FileFormatError, InvalidInputError)


def test_a_summary(tmp_path):
    said = read_texts(write(tmp_path / "t.csv", "text,label\none,a\ntwo,\n")).summary()
    assert "2 texts" in said
    assert "1 labelled in 1 class, 1 unlabelled" in said
    assert "(unlabelled)  two" in said
    said = read_texts(write(tmp_path / "t.csv", "text,label\none,a\n,b\n")).summary()
    assert said.startswith("1 text in ")
    assert said.endswith("\n1 problem")


def test_a_very_long_text_is_cut_and_the_others_are_read(tmp_path):
    (tmp_path / "t.csv").write_text(f"text\n{'word ' * 60_000}\nshort\n")
    got = read_texts(tmp_path / "t.csv")
    assert [len(text) for text in got.texts] == [LONGEST - 1, 5]  # the blank at the cut is gone
    assert "only the first" in got.problems[0].reason
