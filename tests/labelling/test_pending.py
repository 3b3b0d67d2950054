"""Users are told about decisions of a review that a labelling does not include."""

from dataclasses import replace

import numpy as np
import pytest

from grande_gnn import LabelOptions, label_features, label_images
from grande_gnn.labelling.decisions import FILE_NAME, Decision, Journal
from grande_gnn.labelling.pending import tell_if_model_is_older, tell_if_review_is_kept
from grande_gnn.labelling.samples_file import label_file

FIXED = LabelOptions(model="sgc", sigma=0.2, graph="knn", n_neighbors=8, normalize="center-l2", device="cpu")


@pytest.fixture
def told():
    """What was told, and the function that tells it."""
    steps = []
    return steps, lambda step: steps.append(step.message)


def test_decisions_that_count_are_counted(tmp_path, told):
    steps, tell = told
    tell_if_review_is_kept(None, tell)
    tell_if_review_is_kept(tmp_path, tell)
    tell_if_model_is_older(tmp_path, {}, tell)
    assert steps == []
    journal = Journal(tmp_path)
    journal.append(Decision("label", ("a.png",), "cat"))
    tell_if_review_is_kept(tmp_path, tell)
    tell_if_model_is_older(tmp_path, {}, tell)
    assert steps[0].startswith("1 decision of a review is kept in")
    assert steps[1].startswith("1 decision of a review is not in that model yet: open `grande review")
    journal.append(Decision("none", ("b.png",)))
    journal.append(Decision("skip", ("c.png",)))
    tell_if_review_is_kept(tmp_path, tell)
    assert steps[2].startswith("2 decisions of a review are kept in")


def test_a_damaged_journal_does_not_stop_a_labelling(tmp_path, told):
    steps, tell = told
    (tmp_path / FILE_NAME).write_bytes(b"{}\n" * 3)
    tell_if_review_is_kept(tmp_path, tell)
    assert steps == []
    assert (tmp_path / FILE_NAME).read_bytes() == b"{}\n" * 3


def test_labelling_again_over_a_reviewed_result_says_so(photos, tmp_path, told):
    steps, tell = told
    options = LabelOptions(extractor="pixels", model="sgc", workers=0, device="cpu", overwrite=True)
    out = tmp_path / "out"
    label_images(photos, out, options, tell)
    assert not any("review" in message for message in steps)
    Journal(out).append(Decision("label", ("12.png",), "violet"))
    result = label_images(photos, out, options, tell)
    assert "violet" not in result.given
    assert any(
        "`grande review " in message and "applies them to the new result" in message for message in steps
    )
    assert len(Journal(out).decisions) == 1


def test_so_does_a_features_file(groups, tmp_path, told):
    steps, tell = told
    X, _, given = groups()
    names = [f"s{i:02d}" for i in range(len(X))]
    np.savez(tmp_path / "f.npz", features=X.astype(np.float32), files=names, labels=given)
    label_features(X, given, files=names, out=tmp_path / "out", options=FIXED)
    Journal(tmp_path / "out").append(Decision("label", ("s07",), "yak"))
    label_file(tmp_path / "f.npz", tmp_path / "out", replace(FIXED, overwrite=True), tell)
    assert any("1 decision of a review is kept in" in message for message in steps)
