"""``grande label`` from a folder to labels, as a user runs it."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from grande_gnn.cli import main


@pytest.fixture
def photos(tmp_path):
    """Red, green and blue images; four of each labelled by their folder, eight loose, and a broken file."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "photos"
    for i in range(36):
        colour = i % 3
        pixels = rng.integers(0, 90, size=(24, 24, 3))
        pixels[..., colour] += 150
        place = folder / ("red", "green", "blue")[colour] if i < 12 else folder
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{i:02d}.png")
    (folder / "broken.jpg").write_bytes(b"not an image")
    return folder


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))

    def call(*arguments, code=0):
        result = CliRunner().invoke(main, ["label", *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

    return call


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FAST = ("--extractor", "pixels", "--workers", 0, "--device", "cpu", "--model", "sgc")


def test_every_readable_image_gets_its_colour(photos, run, tmp_path):
    out = tmp_path / "out"
    said = run(photos, "-o", out, *FAST, "--export", "label-studio", "--copy-to", tmp_path / "sorted")
    rows = rows_of(out / "predictions.csv")
    assert list(rows[0]) == ["file", "label", "confidence", "runner_up", "margin", "given_label", "flags"]
    assert len(rows) == 36
    for row in rows:
        number = int(row["file"].split("/")[-1][:2])
        assert row["label"] == ("red", "green", "blue")[number % 3]
        assert row["given_label"] == (row["label"] if number < 12 else "")
        assert 0 <= float(row["confidence"]) <= 1
    assert [row["file"] for row in rows_of(out / "problems.csv")] == ["broken.jpg"]
    assert "Expected accuracy" in said
    assert (out / "report.html").stat().st_size > 10_000
    tasks = json.loads((out / "label-studio.json").read_text())
    assert len(tasks) == 36
    assert tasks[0]["predictions"][0]["result"][0]["value"]["choices"] == [rows[0]["label"]]
    assert len(list((tmp_path / "sorted").glob("*/*.png"))) == 36


def test_an_existing_output_is_kept_and_reuse_labels_new_images(photos, run, tmp_path):
    out, more = tmp_path / "out", tmp_path / "more"
    run(photos, "-o", out, *FAST, "--paper")
    before = (out / "predictions.csv").read_bytes()
    assert "--overwrite" in run(photos, "-o", out, *FAST, code=1)
    assert (out / "predictions.csv").read_bytes() == before
    new = tmp_path / "new"
    new.mkdir()
    Image.new("RGB", (24, 24), (220, 40, 40)).save(new / "a.png")
    run(new, "-o", more, "--reuse", out, "--workers", 0)
    assert [row["label"] for row in rows_of(more / "predictions.csv")] == ["red"]
    assert "settings.json" in run(new, "-o", tmp_path / "x", "--reuse", photos, code=1)


def test_only_an_earlier_result_is_overwritten(photos, run, tmp_path):
    """Whatever the flags, no file of the user's is deleted."""
    everything = sorted(photos.rglob("*"))
    for output in (photos, tmp_path, photos.parent / "photos" / ".."):
        assert "folder of their own" in run(photos, "-o", output, *FAST, "--overwrite", code=1)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    out = foreign  # an empty folder is as good as none
    run(photos, "-o", out, *FAST, "--paper")
    (out / "predictions.csv").write_text("old", encoding="utf-8")
    run(photos, "-o", out, *FAST, "--paper", "--overwrite")
    assert len(rows_of(out / "predictions.csv")) == 36
    (out / "predictions.csv").rename(out / "mine.csv")
    assert "not the result of an earlier run" in run(photos, "-o", out, *FAST, "--overwrite", code=1)
    assert (out / "mine.csv").exists()
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    assert "not the result of an earlier run" in run(photos, "-o", file, *FAST, "--overwrite", code=1)
    assert file.read_text(encoding="utf-8") == "mine"
    assert sorted(photos.rglob("*")) == everything


def test_a_place_for_copies_that_is_taken_is_refused_before_the_work(photos, run, tmp_path):
    said = run(photos, "-o", tmp_path / "out", *FAST, "--copy-to", photos, code=1)
    assert "new or empty" in said
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "cache").exists()


def test_reuse_with_other_weights_is_refused(photos, run, tmp_path):
    out = tmp_path / "out"
    run(photos, "-o", out, *FAST, "--paper")
    settings = json.loads((out / "settings.json").read_text(encoding="utf-8"))
    (out / "settings.json").write_text(json.dumps(settings | {"weights": "other"}), encoding="utf-8")
    assert "same --weights" in run(photos, "-o", tmp_path / "more", "--reuse", out, code=1)


def test_a_template_keeps_the_labels_there_are(photos, run, tmp_path):
    run(photos, "--template", tmp_path / "labels.csv", *FAST)
    rows = rows_of(tmp_path / "labels.csv")
    assert len(rows) == 36
    assert [bool(row["label"]) for row in rows] == [False] * 24 + [True] * 12
    assert all(row["file"].startswith(row["label"]) for row in rows)


def test_without_labels_the_error_names_the_template(photos, run, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    for i in range(3):
        Image.new("RGB", (8, 8), (80 * i, 0, 0)).save(bare / f"{i}.png")
    assert "--template" in run(bare, "-o", tmp_path / "o", *FAST, code=1)
    assert not (tmp_path / "o").exists()
    run(bare, "--template", tmp_path / "labels.csv", *FAST)
    rows = rows_of(tmp_path / "labels.csv")
    assert sorted(row["file"] for row in rows) == ["0.png", "1.png", "2.png"]
    assert {row["label"] for row in rows} == {""}


def test_a_dry_run_only_speaks(photos, run, tmp_path):
    said = run(photos, "--dry-run")
    assert "36" in said or "37" in said
    assert "red" in said
    assert not (tmp_path / "cache").exists()


def test_a_class_with_one_label_is_said(photos, run, tmp_path):
    for file in sorted((photos / "blue").glob("*.png"))[1:]:
        file.unlink()
    said = run(photos, "-o", tmp_path / "out", *FAST)
    assert "fewer than 2 labels" in said
