"""Images are found wherever they are, once, with the labels of their folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import ImageSet, find_images
from grande_gnn.images.find import walk


def put(root: Path, *names: str) -> Path:
    """Empty files are enough: finding does not open images."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def labels(images: ImageSet) -> dict[str, str]:
    return dict(zip(images.files, images.labels, strict=True))


def reasons(images: ImageSet) -> dict[str, str]:
    return {problem.file: problem.reason for problem in images.problems}


def test_class_folders_and_loose_files(tmp_path: Path) -> None:
    put(tmp_path, "cat/1.jpg", "cat/deep/2.PNG", "dog/1.webp", "loose.jpeg")
    images = find_images(tmp_path)
    assert labels(images) == {
        "cat/1.jpg": "cat",
        "cat/deep/2.PNG": "cat",
        "dog/1.webp": "dog",
        "loose.jpeg": "",
    }
    assert images.files == sorted(images.files)
    assert images.class_counts == {"cat": 2, "dog": 1}
    assert not images.problems


@pytest.mark.parametrize("name", ["unlabeled", "_unlabeled", "unlabelled", "Unlabeled", "_UNLABELLED"])
def test_unlabelled_folder_in_any_spelling(tmp_path: Path, name: str) -> None:
    put(tmp_path, "cat/1.jpg", f"{name}/1.jpg", f"{name}/deep/2.jpg")
    assert find_images(tmp_path).class_counts == {"cat": 1}


@pytest.mark.parametrize("splits", [("train", "test"), ("Training", "Validation", "TEST"), ("train", "val")])
def test_parts_of_a_set_are_looked_through_and_said(tmp_path: Path, splits: tuple[str, ...]) -> None:
    put(
        tmp_path, *(f"{split}/{name}/1.jpg" for split in splits for name in ("cat", "dog")), "unlabeled/9.jpg"
    )
    images = find_images(tmp_path)
    assert images.class_counts == {"cat": len(splits), "dog": len(splits)}
    assert all(any(split in note for note in images.notes) for split in splits)


def test_loose_files_of_a_test_folder_are_unlabelled(tmp_path: Path) -> None:
    put(tmp_path, "train/cat/1.jpg", "train/dog/1.jpg", "test/1.jpg")
    assert labels(find_images(tmp_path))["test/1.jpg"] == ""


def test_classes_called_train_and_test_without_folders_inside_are_classes(tmp_path: Path) -> None:
    put(tmp_path, "train/1.jpg", "test/1.jpg")
    assert find_images(tmp_path).class_counts == {"test": 1, "train": 1}


def test_a_lone_folder_is_a_wrapper(tmp_path: Path) -> None:
    put(tmp_path, "data/images/cat/1.jpg", "data/images/dog/1.jpg")
    assert find_images(tmp_path).class_counts == {"cat": 1, "dog": 1}
    put(tmp_path / "other", "images/1.jpg", "images/2.jpg")
    assert find_images(tmp_path / "other").class_counts == {}


def test_links_are_followed_and_loops_cut(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", "1.jpg", "2.jpg")
    root = put(tmp_path / "root", "cat/1.jpg", "dog/1.jpg")
    os.symlink(outside, root / "bird")
    os.symlink(root, root / "cat" / "loop")
    os.symlink(root / "dog", root / "a-link-that-sorts-first")
    os.symlink(tmp_path / "nowhere", root / "cat" / "gone.jpg")
    os.symlink(outside / "1.jpg", root / "dog" / "linked.jpg")
    images = find_images(root)
    assert images.class_counts == {"bird": 2, "cat": 1, "dog": 2}
    assert set(reasons(images)) == {"cat/loop", "a-link-that-sorts-first", "cat/gone.jpg"}
    assert "already included" in reasons(images)["cat/loop"]
    assert "broken link" in reasons(images)["cat/gone.jpg"]


def test_links_to_folders_further_up_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "all", "odd/cat/1.jpg", "odd/dog/1.jpg", "other/1.jpg", "other/2.jpg")
    root = tmp_path / "all" / "odd"
    os.symlink("..", root / "loop")
    images = find_images(root)
    assert images.class_counts == {"cat": 1, "dog": 1}
    assert reasons(images) == {"loop": "link to a folder that holds the link or the images"}


def test_a_link_in_a_linked_folder_does_not_lead_up_from_there(tmp_path: Path) -> None:
    put(tmp_path / "outside", "birds/1.jpg", "other/1.jpg")
    root = put(tmp_path / "root", "cat/1.jpg")
    os.symlink(tmp_path / "outside" / "birds", root / "bird")
    os.symlink("..", tmp_path / "outside" / "birds" / "up")
    images = find_images(root)
    assert labels(images) == {"bird/1.jpg": "bird", "cat/1.jpg": "cat"}
    assert list(reasons(images)) == ["bird/up"]


RESULT = ("predictions.csv", "settings.json", "model/model.json", "image-folder/cat/1.jpg")


def test_results_among_the_images_are_left_out_and_said(tmp_path: Path) -> None:
    put(tmp_path, "cat/1.jpg", "dog/1.jpg", *(f"labelled/{name}" for name in RESULT))
    images = find_images(tmp_path)
    assert labels(images) == {"cat/1.jpg": "cat", "dog/1.jpg": "dog"}
    assert not images.problems
    assert images.notes[1:] == ["labelled/ holds results of grande label, so its files are left out."]


def test_results_are_left_out_wherever_they_are_but_not_as_the_folder_itself(tmp_path: Path) -> None:
    out = put(tmp_path / "out", *RESULT)
    root = put(tmp_path / "root", "cat/1.jpg", "dog/1.jpg", *(f"cat/runs/{name}" for name in RESULT))
    os.symlink(out, root / "linked")
    assert [note.split("/ ")[0] for note in find_images(root).notes[1:]] == ["cat/runs", "linked"]
    assert find_images(root).class_counts == {"cat": 1, "dog": 1}
    assert find_images(out).files == ["image-folder/cat/1.jpg"]
    with pytest.raises(
        InvalidInputError, match=r"has no images .*\(out/ holds results .* left out\): .*got 0 oth"
    ):
        find_images(put(tmp_path / "parent", *(f"out/{name}" for name in RESULT)))


@pytest.mark.parametrize("missing", ["predictions.csv", "settings.json", "model/model.json"])
def test_a_class_folder_with_some_files_of_a_result_is_none(tmp_path: Path, missing: str) -> None:
    put(tmp_path, "dog/1.jpg", "cat/1.jpg", *(f"cat/{name}" for name in RESULT if name != missing))
    assert find_images(tmp_path).class_counts == {"cat": 2, "dog": 1}


def test_what_is_no_image_is_listed_and_hidden_files_are_not(tmp_path: Path) -> None:
    put(
        tmp_path, "cat/1.jpg", "cat/notes.txt", ".hidden/x.jpg", "cat/.DS_Store", "dog/Thumbs.db", "dog/2.jpg"
    )
    os.mkfifo(tmp_path / "cat" / "pipe.jpg")
    images = find_images(tmp_path)
    assert images.files == ["cat/1.jpg", "dog/2.jpg"]
    assert reasons(images) == {"cat/notes.txt": "not an image", "cat/pipe.jpg": "not a regular file"}


def test_an_image_with_another_suffix_is_found(class_folders: Path) -> None:
    (class_folders / "rose" / "0.jpg").rename(class_folders / "rose" / "0.data")
    assert "rose/0.data" in find_images(class_folders).files


@pytest.mark.parametrize("content", ["nothing here", None])
def test_no_images_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "a.txt").write_text(content)
    with pytest.raises(InvalidInputError, match=r"has no images.*got [01] other"):
        find_images(tmp_path)


def test_the_folder_must_be_a_folder(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg")
    with pytest.raises(InvalidInputError, match="which is a file"):
        find_images(tmp_path / "1.jpg")
    with pytest.raises(InvalidInputError, match="which does not exist"):
        find_images(tmp_path / "2")


def test_labels_csv_in_the_folder_is_used(tmp_path: Path) -> None:
    put(tmp_path, "images/1.jpg", "images/2.jpg", "images/3.jpg")
    (tmp_path / "labels.csv").write_text("file,label\nimages/1.jpg,cat\nimages/2.jpg,\n")
    images = find_images(tmp_path)
    assert images.labels == ["cat", "", ""]
    assert not images.problems
    assert "labels.csv" in images.notes[0]


def test_labels_in_a_table_that_may_be_slips_are_noted(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg", "2.jpg", "3.jpg")
    (tmp_path / "labels.csv").write_text("file,label\n1.jpg,cat\n2.jpg,Cat\n3.jpg,nan\n")
    images = find_images(tmp_path)
    assert images.labels == ["cat", "Cat", "nan"]
    assert len(images.notes) == 3


def test_labels_that_are_not_wanted_are_not_read(tmp_path: Path) -> None:
    """Tables that would be refused, or listed as no images, do not matter then."""
    put(tmp_path, "cat/1.jpg", "2.jpg", "notes.txt")
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("file,label\nelsewhere.jpg,dog\n")
    images = find_images(tmp_path, tmp_path / "none.csv", uses_labels=False)
    assert labels(images) == {"2.jpg": "", "cat/1.jpg": ""}
    assert images.notes == []
    assert list(reasons(images)) == ["notes.txt"]


def test_several_csv_files_with_labels_are_ambiguous(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg")
    (tmp_path / "sizes.csv").write_text("width,height\n1,2\n")
    (tmp_path / "one.csv").write_text("file,label\n1.jpg,cat\n")
    assert find_images(tmp_path).labels == ["cat"]
    (tmp_path / "two.csv").write_text("file,label\n1.jpg,dog\n")
    with pytest.raises(InvalidInputError, match=r"--labels; got one\.csv, two\.csv"):
        find_images(tmp_path)


def test_walking_lists_images_and_other_files(tmp_path: Path) -> None:
    put(tmp_path, "b/2.jpg", "a.PNG", "notes.txt", "b/table.csv")
    found = walk(tmp_path)
    assert (found.images, found.others) == (["a.PNG", "b/2.jpg"], ["b/table.csv", "notes.txt"])
    assert not found.problems


def test_a_folder_that_cannot_be_opened_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "open/1.jpg", "closed/2.jpg")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = walk(tmp_path)
    assert found.images == ["open/1.jpg"]
    assert [(p.file, p.reason) for p in found.problems] == [
        ("closed", "folder cannot be opened: Permission denied")
    ]
