"""Labels from CSV files as people write them, and from files that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.images import ImageSet, find_images
from grande_gnn.images.labels_csv import has_label_columns, label_notes, label_source, read_label_csv


def put(root: Path, *names: str) -> Path:
    """Empty files are enough: finding does not open images."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def reasons(images: ImageSet) -> dict[str, str]:
    return {problem.file: problem.reason for problem in images.problems}


@pytest.mark.parametrize(
    "text",
    [
        "file,label\n1.jpg,cat\nsub/2.jpg,dog\n",
        "Image Path;Class_Label\r\n1.jpg;cat\r\nsub/2.jpg;dog\r\n",
        "id\tspecies\n1\tcat\n2\tdog\n",
        "\ufefflabel,extra,filename\ncat,x,1.jpg\ndog,y,sub\\2.jpg\n",
        "1.jpg,cat\n./sub/2.jpg,dog\n",
        'file,bird or not\n"1.jpg", cat \n2.jpg,dog\n\n',
        "id,filename,label\n7,1.jpg,cat\n8,2.jpg,dog\n",
    ],
    ids=["plain", "semicolon", "stems", "columns", "headless", "unknown label column", "file before id"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_csv_in_many_spellings(tmp_path: Path, text: str, encoding: str) -> None:
    put(tmp_path / "images", "1.jpg", "sub/2.jpg")
    (tmp_path / "images" / "my.csv").write_bytes(text.encode(encoding))
    images = find_images(tmp_path / "images", tmp_path / "images" / "my.csv")
    assert images.labels == ["cat", "dog"]
    assert not images.problems


def test_csv_elsewhere_names_paths_relative_to_itself_or_the_folder(tmp_path: Path) -> None:
    root = put(tmp_path / "images", "1.jpg", "2.jpg", "3.jpg")
    table = tmp_path / "labels.csv"
    table.write_text(f"file,label\nimages/1.jpg,a\n2.jpg,b\n{root}/3.jpg,c\n")
    assert find_images(root, table).labels == ["a", "b", "c"]


def test_a_csv_that_names_a_file_on_another_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "1.jpg", "2.jpg")
    (tmp_path / "l.csv").write_text("file,label\n1.jpg,cat\n/D/2.jpg,dog\n")
    relpath = os.path.relpath

    def on_windows(path: Path, start: Path) -> str:
        if path.parts[1] == "D":
            raise ValueError("path is on mount 'D:', start on mount 'C:'")
        return relpath(path, start)

    monkeypatch.setattr(os.path, "relpath", on_windows)
    images = find_images(tmp_path, tmp_path / "l.csv")
    assert images.labels == ["cat", ""]
    assert "no such image" in reasons(images)["/D/2.jpg"]


def test_two_labels_for_one_file_leave_it_unlabelled(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg", "2.jpg")
    (tmp_path / "l.csv").write_text("file,label\n1.jpg,cat\n1.jpg,dog\n2.jpg,cat\n2.jpg,cat\n2.jpg,\n")
    images = find_images(tmp_path, tmp_path / "l.csv")
    assert images.labels == ["", "cat"]
    assert reasons(images) == {
        "1.jpg": "two labels: cat and dog (lines 2 and 3 of l.csv), so taken as unlabelled",
    }


def test_a_label_for_a_missing_file_is_listed(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg")
    (tmp_path / "l.csv").write_text("file,label\n1.jpg,cat\nlost.jpg,dog\n")
    assert reasons(find_images(tmp_path, tmp_path / "l.csv")) == {
        "lost.jpg": "no such image: line 3 of l.csv names it"
    }


def test_an_ambiguous_name_matches_nothing(tmp_path: Path) -> None:
    put(tmp_path, "a/1.jpg", "b/1.jpg", "b/2.jpg")
    (tmp_path / "l.csv").write_text("file,label\n1.jpg,cat\n2.jpg,dog\n")
    images = find_images(tmp_path, tmp_path / "l.csv")
    assert images.labels == ["", "", "dog"]
    assert list(reasons(images)) == ["1.jpg"]


@pytest.mark.parametrize(
    "name", ["image_0001.JPG", "sub/image_0001.JPG", "./Sub/IMAGE_0001.jpg", "SUB\\image_0001.jpg"]
)
def test_case_is_ignored_if_one_file_fits(tmp_path: Path, name: str) -> None:
    put(tmp_path, "sub/image_0001.jpg", "sub/image_0002.jpg")
    (tmp_path / "l.csv").write_text(f"file,label\n{name},cat\n")
    images = find_images(tmp_path, tmp_path / "l.csv")
    assert images.labels == ["cat", ""]
    assert not images.problems


def test_only_the_given_labels_of_predictions_are_read(tmp_path: Path) -> None:
    """Predictions that come back as given labels would confirm themselves."""
    put(tmp_path, "1.jpg", "2.jpg")
    table = tmp_path / "predictions.csv"
    table.write_text("file,label,confidence,given_label\n1.jpg,cat,1,cat\n2.jpg,dog,0.4,\n")
    images = find_images(tmp_path, table)
    assert images.labels == ["cat", ""]
    assert images.notes == [f"Labels are read from the column given_label of {table}."]
    table.write_text("file,label\n1.jpg,cat\n2.jpg,dog\n")
    assert label_source(table) == f"Labels are read from {table}."
    assert find_images(tmp_path, table).labels == ["cat", "dog"]


def test_case_counts_if_it_tells_files_apart(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("file,label\nA.jpg,cat\na.jpg,dog\na.JPG,cow\nB.jpg,cat\n")
    labels, problems = read_label_csv(tmp_path / "l.csv", tmp_path, ["A.jpg", "a.jpg", "x/b.jpg", "y/b.jpg"])
    assert labels == ["cat", "dog", "", ""]
    assert [problem.file for problem in problems] == ["a.JPG", "B.jpg"]


def test_classes_that_differ_in_case_only_are_noted_once() -> None:
    said = "{} and {} are two classes that differ in case only: use one spelling if they are the same."
    assert label_notes(["BLUEBELL", "bluebell", "bluebell", "daisy", "Daisy", ""]) == [
        said.format("bluebell", "BLUEBELL")
    ]
    assert label_notes(["bluebell", "daisy", "bluebell", ""]) == []
    (note,) = label_notes(["x\n" * 1000, "X\n" * 1000])
    assert "\n" not in note
    assert len(note) < 300


@pytest.mark.parametrize(
    "name", ["nan", "NaN", "NA", "N/A", "None", "null", "unlabelled", "Unlabeled", "-1", "?"]
)
def test_a_class_that_may_mean_unlabelled_is_noted(name: str) -> None:
    assert label_notes(["rose", name, "", name]) == [
        f"A class is called {name}: if that means unlabelled, leave its cells empty."
    ]
    assert label_notes(["rose", name, "", "0"])


def test_several_classes_that_may_mean_unlabelled_are_one_note() -> None:
    assert label_notes(["?", "?", "none", "rose", "nana", "1"]) == [
        "Classes are called ? and none: if that means unlabelled, leave their cells empty."
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty file"),
        ("width,height\n1,2\n", "got the columns width, height"),
        ("file,label\nx.jpg,cat\n", r"none of the files.*got 'x.jpg' in line 2"),
    ],
)
def test_unusable_csv(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, "1.jpg")
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        find_images(tmp_path, tmp_path / "l.csv")
    with pytest.raises(InvalidInputError, match="must be an existing file"):
        find_images(tmp_path, tmp_path / "missing.csv")


def test_csv_that_is_no_text(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg")
    (tmp_path / "l.csv").write_bytes(bytes(range(256)))
    with pytest.raises(FileFormatError):
        find_images(tmp_path, tmp_path / "l.csv")


def test_western_code_page(tmp_path: Path) -> None:
    put(tmp_path, "caf\u00e9.jpg")
    (tmp_path / "l.csv").write_bytes("file,label\ncaf\u00e9.jpg,n\u00fcsse\n".encode("cp1252"))
    assert find_images(tmp_path, tmp_path / "l.csv").labels == ["n\u00fcsse"]


def test_composed_and_decomposed_names_are_the_same(tmp_path: Path) -> None:
    put(tmp_path, "cafe\u0301.jpg")
    (tmp_path / "l.csv").write_text("file,label\ncaf\u00e9.jpg,x\n", encoding="utf-8")
    assert find_images(tmp_path, tmp_path / "l.csv").labels == ["x"]


def test_the_labels_of_chosen_files(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("file,label\na/1.jpg,cat\n2,dog\nlost.jpg,cat\n")
    labels, problems = read_label_csv(tmp_path / "l.csv", tmp_path, ["a/1.jpg", "a/2.jpg", "a/3.jpg"])
    assert labels == ["cat", "dog", ""]
    assert [problem.file for problem in problems] == ["lost.jpg"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("file,label\n", True),
        ("Image Path;Class_Label", True),
        ("label\tid\n1\t2", True),
        ("file,size\n", False),
        ("width,height\n", False),
        ("", False),
    ],
)
def test_whether_a_csv_has_labels(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "l.csv").write_text(text)
    assert has_label_columns(tmp_path / "l.csv") is expected


def test_a_csv_that_is_not_there_has_no_labels(tmp_path: Path) -> None:
    assert not has_label_columns(tmp_path / "missing.csv")
    assert not has_label_columns(tmp_path)
