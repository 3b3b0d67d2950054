"""What is written holds every decision, where each label comes from, and exactly the labels of a fresh training."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from grande_gnn import LabelOptions, label_images
from grande_gnn.labelling.exports import EXPORTS
from grande_gnn.labelling.label_sets import LabelSets
from grande_gnn.labelling.result import Labelling
from grande_gnn.review.rewriting import reviewed_labelling, write_reviewed
from grande_gnn.review.session import Session


def rows_of(folder):
    with (folder / "predictions.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_folder_is_rewritten_with_provenance_at_the_end(session, out, fresh):
    session.decide("label", [20], "red")
    session.decide("none", [1])
    write_reviewed(session)
    rows = rows_of(out)
    assert list(rows[0])[-2:] == ["provenance", "when"]
    assert [rows[i]["provenance"] for i in (0, 1, 20, 21)] == ["given", "corrected", "corrected", "predicted"]
    assert (rows[20]["given_label"], rows[1]["given_label"], rows[1]["label"]) == ("red", "", "")
    assert rows[20]["when"].startswith("20")
    assert rows[21]["when"] == ""
    given = [row["given_label"] for row in rows]
    expected = fresh(session.full, given)
    assert [row["label"] for i, row in enumerate(rows) if i != 1] == [
        label for i, label in enumerate(expected.labels) if i != 1
    ]
    assert [row["confidence"] for i, row in enumerate(rows) if i != 1] == [
        f"{c:.4f}" for i, c in enumerate(expected.confidence) if i != 1
    ]
    assert session.journal.path.exists()
    assert "report.html" in {entry.name for entry in out.iterdir()}


def test_what_was_written_is_read_again(session, out):
    session.decide("label", [20], "red")
    written = write_reviewed(session)
    again = Labelling.load(out)
    assert (again.provenance, again.decided) == (written.provenance, written.decided)
    assert again.settings["corrections"] == session.written == 2
    assert again.classifier.classes_.tolist() == written.classifier.classes_.tolist()


def test_fewer_than_two_classes_are_written_without_training(session):
    for row in range(12):
        session.decide("none", [row])
    session.decide("label", [20, 21], "red")
    result = reviewed_labelling(session)
    assert result.labels == ["red" if row in (20, 21) else "" for row in range(36)]
    np.testing.assert_array_equal(result.confidence, [float(row in (20, 21)) for row in range(36)])
    assert result.accuracy is None


def test_a_withdrawn_model_leaves_no_opinion_behind(session, out):
    session.full = replace(
        session.full, label_sets=[["red"]] * 36, sets_made=LabelSets(0.8, "split", 5), doubts=["Few labels."],
        unreached=np.ones(36, dtype=bool),
    )  # fmt: skip
    session.decide("none", list(range(12)))
    session.decide("label", [20, 21], "red")
    result = write_reviewed(session)
    assert (result.label_sets, result.sets_made, result.doubts) == (None, None, [])
    assert (result.unfamiliar, result.is_unfamiliar) == (None, None)
    assert not result.unreached.any()
    again = Labelling.load(out)
    assert (again.label_sets, again.sets_made, again.doubts, again.unfamiliar) == (None, None, [], None)


def test_an_export_is_written_too(session, out):
    write_reviewed(session, "label-studio")
    assert (out / "label-studio.json").is_file()


def build_photos(folder):
    """Noisy images in three colors, the first four of each labelled by a file; the colors of some are hard to tell."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    lines = ["file,label"]
    for i in range(45):
        pixels = rng.integers(0, 140, size=(16, 16, 3))
        pixels[..., i % 3] += 10 + 4 * (i % 11)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{i:02d}.png")
        lines.append(f"{i:02d}.png,{('red', 'green', 'blue')[i % 3] if i < 12 else ''}")
    (folder.parent / "labels.csv").write_text("\n".join(lines))
    return folder


@pytest.mark.parametrize(
    ("model", "new_class"),
    [
        pytest.param("sgc", False, marks=pytest.mark.slow),
        ("sgc", True),
        pytest.param("appnp", False, marks=pytest.mark.slow),  # the default
        pytest.param("appnp", True, marks=pytest.mark.slow),
    ],
)
def test_with_automatic_settings_the_files_are_those_of_grande_label_to_the_last_digit(
    tmp_path, monkeypatch, model, new_class
):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    photos, out = build_photos(tmp_path / "photos"), tmp_path / "out"
    options = LabelOptions(
        extractor="pixels", model=model, workers=0, device="cpu", labels=tmp_path / "labels.csv"
    )
    first = label_images(photos, out, options)
    assert len(first.classifier.committee_.members) > 1
    session = Session(out, Labelling.load(out))
    session.decide("label", [20, 23], "violet" if new_class else "red")
    session.decide("label", [3], "green")  # another than the one that was given
    session.decide("label", [30], "blue")
    write_reviewed(session)
    session.close()
    reviewed = rows_of(out)
    lines = [f"{row['file']},{row['given_label']}" for row in reviewed]
    (tmp_path / "labels.csv").write_text("\n".join(["file,label", *lines]))
    label_images(photos, tmp_path / "again", options)
    again = rows_of(tmp_path / "again")
    names = [name for name in again[0] if name in reviewed[0]]
    assert {"file", "label", "confidence", "runner_up", "margin", "given_label", "flags"} <= set(names)
    assert [[row[name] for name in names] for row in reviewed] == [
        [row[name] for name in names] for row in again
    ]
    one, other = Labelling.load(out), Labelling.load(tmp_path / "again")
    assert (one.accuracy, one.calibration) == (other.accuracy, other.calibration)
    np.testing.assert_array_equal(one.classifier.label_distributions_, other.classifier.label_distributions_)


def test_earlier_exports_are_written_again_with_the_new_labels(session, out):
    write_reviewed(session, "csv")
    write_reviewed(session, "coco")
    session.decide("label", [20], "violet")
    write_reviewed(session)
    assert "violet" in (out / EXPORTS["coco"].entry).read_text()
    assert "violet" in (out / EXPORTS["csv"].entry).read_text()
    assert not (out / EXPORTS["label-studio"].entry).exists()


def test_an_export_that_fails_does_not_keep_decisions_out_of_the_files(session, out):
    write_reviewed(session, "hugging-face")
    (session.full.root / session.files[3]).unlink()
    session.decide("label", [20], "violet")
    write_reviewed(session)
    assert rows_of(out)[20]["label"] == "violet"
    with pytest.raises(OSError, match=r"003\.png"):
        write_reviewed(session, "hugging-face")
