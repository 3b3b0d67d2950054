"""The text that shows what was found in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from grande_gnn.images import find_images, summarize


def put(root: Path, *names: str) -> Path:
    """Empty files are enough: finding does not open images."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def test_summary_names_classes_counts_and_examples(tmp_path: Path) -> None:
    put(
        tmp_path,
        *(f"cat/{i:02d}.jpg" for i in range(30)),
        *(f"dog/{i:02d}.jpg" for i in range(20)),
        "x.jpg",
        "n.txt",
    )
    text = summarize(find_images(tmp_path))
    assert "51 images" in text
    assert "50 labelled in 2 classes, 1 unlabelled" in text
    assert [line.split() for line in text.splitlines()].count(["cat", "30"]) == 1
    assert sum(".jpg" in line for line in text.splitlines()) == 10
    assert "cat/00.jpg" in text
    assert "x.jpg" in text
    assert "not an image" in text


def test_a_folder_without_labels(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg", "2.jpg")
    text = summarize(find_images(tmp_path), n_examples=1)
    assert "0 labelled in 0 classes, 2 unlabelled" in text
    assert "class" not in text.splitlines()[1]
    assert sum("(unlabelled)" in line for line in text.splitlines()) == 1


def test_one_class_is_no_classes(tmp_path: Path) -> None:
    put(tmp_path, "x.jpg")
    (tmp_path / "labels.csv").write_text("file,label\nx.jpg,nan\n")
    text = summarize(find_images(tmp_path))
    assert text.startswith("1 image in ")
    assert "1 labelled in 1 class, 0 unlabelled" in text
    assert "A class is called nan" in text


def test_the_old_spelling_warns() -> None:
    import grande_gnn.images.summary as module

    with pytest.warns(DeprecationWarning, match="summarize"):
        assert module.summarise is summarize


def test_names_take_one_line_of_bounded_length(tmp_path: Path) -> None:
    put(tmp_path, "two\nlines/1.jpg", f"{'x' * 200}/2.jpg")
    lines = summarize(find_images(tmp_path)).splitlines()
    assert any(line.split()[:2] == ["two", "lines"] for line in lines)
    assert all(len(line) < 200 for line in lines[2:])
