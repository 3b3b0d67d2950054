"""The answer as an object and as a table."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.labelling.confidence import AccuracyEstimate
from grande_gnn.labelling.result import COLUMNS, Labelling, Suspicion, read_predictions, write_predictions


def labelling(**other):
    """Four images: one with a contradicted label, one far away, one that no label reaches."""
    columns = {
        "files": ["a.jpg", "b,\n.jpg", "c.jpg", os.fsdecode(b"caf\xe9.jpg")],
        "labels": ["cat", "dog", "cat", "dog"],
        "confidence": np.array([0.05, 0.98764, 0.5, 1.0]),
        "runner_up": ["dog", "cat", "dog", "cat"],
        "margin": np.array([-0.9, 0.97528, 0.0, 1.0]),
        "given": ["cat", "", "", ""],
        "unreached": np.array([False, False, True, False]),
        "out_of_distribution": np.array([False, True, True, False]),
        "suspicions": [Suspicion(0, "dog", 0.95)],
    }
    return Labelling(**(columns | other))


def test_flags_are_named_in_one_order():
    flags = labelling().flags()
    assert flags == ["suspicious_label", "out_of_distribution", "unreached out_of_distribution", ""]


def test_predictions_are_read_as_they_were_written(tmp_path):
    result = labelling()
    write_predictions(tmp_path / "predictions.csv", result)
    again = read_predictions(tmp_path / "predictions.csv")
    assert again.files == result.files
    assert again.labels == result.labels
    assert again.runner_up == result.runner_up
    assert again.given == result.given
    assert again.flags() == result.flags()
    np.testing.assert_allclose(again.confidence, [0.05, 0.9876, 0.5, 1.0])
    np.testing.assert_allclose(again.margin, [-0.9, 0.9753, 0.0, 1.0])
    (suspicion,) = again.suspicions
    assert (suspicion.row, suspicion.label) == (0, "dog")
    assert suspicion.confidence == pytest.approx(0.95)


def test_the_table_is_the_one_of_version_0_1(tmp_path):
    write_predictions(tmp_path / "predictions.csv", labelling())
    data = (tmp_path / "predictions.csv").read_bytes()
    assert data.startswith(b"file,label,confidence,runner_up,margin,given_label,flags\r\n")
    assert b"a.jpg,cat,0.0500,dog,-0.9000,cat,suspicious_label\r\n" in data
    assert b"caf\xe9.jpg,dog,1.0000,cat,1.0000,,\r\n" in data  # the name as its bytes on disk


def test_copies_are_flagged_and_survive_the_table(tmp_path):
    result = labelling(copy_of=["", "", "a.jpg", ""])
    assert result.flags()[2] == "unreached out_of_distribution copy"
    write_predictions(tmp_path / "predictions.csv", result)
    assert read_predictions(tmp_path / "predictions.csv").copy_of == result.copy_of
    header = (tmp_path / "predictions.csv").read_bytes().splitlines()[0]
    assert header == b"file,label,confidence,runner_up,margin,given_label,flags,copy_of"


def test_scores_and_sets_survive_the_table(tmp_path):
    result = labelling(
        unfamiliar=np.array([0.0, 0.123456, 0.9, 1.0]),
        is_unfamiliar=np.array([False, False, True, False]),
        label_sets=[["cat"], ["dog", "a|b"], ["cat", "dog"], ["dog"]],
    )
    assert result.flags()[2] == "unreached out_of_distribution unfamiliar"
    write_predictions(tmp_path / "predictions.csv", result)
    again = read_predictions(tmp_path / "predictions.csv")
    np.testing.assert_allclose(again.unfamiliar, [0.0, 0.1235, 0.9, 1.0])
    assert again.is_unfamiliar.tolist() == result.is_unfamiliar.tolist()
    assert again.label_sets == result.label_sets


@pytest.mark.parametrize("score", ["strange", "1.5", "nan"])
def test_a_score_that_is_none_is_refused(tmp_path, score):
    path = tmp_path / "predictions.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*COLUMNS, "unfamiliar"], ["a.jpg", "cat", "1", "", "0", "", "", score]])
    with pytest.raises(FileFormatError, match="as unfamiliar; got"):
        read_predictions(path)


def test_suspicions_that_are_read_come_surest_first(tmp_path):
    result = labelling(
        confidence=np.array([0.1, 0.05, 0.5, 1.0]),
        margin=np.array([-0.75, -0.9, 0.0, 1.0]),
        suspicions=[Suspicion(1, "cat", 0.95), Suspicion(0, "dog", 0.85)],
    )
    write_predictions(tmp_path / "predictions.csv", result)
    assert [s.row for s in read_predictions(tmp_path / "predictions.csv").suspicions] == [1, 0]


def test_columns_that_are_missing_or_hold_no_numbers_are_reported(tmp_path):
    path = tmp_path / "predictions.csv"
    path.write_text("file,label\na.jpg,cat\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"needs the columns file, label, confidence.*got file, label$"):
        read_predictions(path)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, ["a.jpg", "cat", "sure", "", "0", "", ""]])
    with pytest.raises(FileFormatError, match=r"must hold numbers.*got.*'sure'"):
        read_predictions(path)


@pytest.mark.parametrize(
    "numbers", [("nan", "0"), ("1.5", "0"), ("-0.1", "0"), ("inf", "0"), ("0.5", "nan"), ("0.5", "-2")]
)
def test_numbers_that_are_no_confidences_are_refused(tmp_path, numbers):
    path = tmp_path / "predictions.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, ["a.jpg", "cat", numbers[0], "", numbers[1], "", ""]])
    with pytest.raises(FileFormatError, match=r"confidences in \[0, 1\] and margins in \[-1, 1\]; got"):
        read_predictions(path)


def test_the_summary_has_the_estimate_or_the_reason_why_there_is_none():
    said = labelling(accuracy=AccuracyEstimate(0.913, 0.85, 0.95, 60)).summary()
    assert "3 samples" in said
    assert "Expected accuracy 91.3 % (95 % interval 85.0 to 95.0 %, from 60 labels)." in said
    assert "3 samples are flagged" in said
    assert "Label more." in labelling(note="Label more.").summary()


@pytest.mark.parametrize(
    ("other", "things"),
    [
        ({}, "samples"),
        ({"settings": {"extractor": None}}, "samples"),
        ({"texts": ["a", "b", "c", "d"], "settings": {"extractor": "tfidf"}}, "texts"),
        ({"settings": {"extractor": "lite0"}}, "images"),
        ({"root": Path("photos")}, "images"),
        ({"thumbnails": iter}, "images"),
    ],
)
def test_samples_are_called_what_they_are(other, things):
    result = labelling(**other)
    one = things.removesuffix("s")
    assert result.things == things
    assert (
        result.said("Image 3 of 5 images; imagery stays.")
        == f"{one.capitalize()} 3 of 5 {things}; imagery stays."
    )
    assert result.said("Label an image.") == f"Label a{'n' if one == 'image' else ''} {one}."
    noted = labelling(**other, note="No image is labelled yet.").summary()
    assert f"No {one} is labelled yet." in noted


def test_a_labelling_cannot_be_changed():
    with pytest.raises(AttributeError):
        labelling().note = "other"
