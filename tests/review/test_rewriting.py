"""What is written holds every decision, where each label comes from, and exactly the labels of a fresh training."""

import csv

import numpy as np

from grande_gnn.labelling.result import Labelling
from grande_gnn.review.rewriting import reviewed_labelling, write_reviewed


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


def test_an_export_is_written_too(session, out):
    write_reviewed(session, "label-studio")
    assert (out / "label-studio.json").is_file()
