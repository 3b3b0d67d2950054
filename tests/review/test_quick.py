"""The quick answer: it obeys new labels, follows the other labels, and leaves everything else as it was."""

import numpy as np
import pytest

from grande_gnn.labelling.other_labels import OtherLabels
from grande_gnn.labelling.result import Labelling
from grande_gnn.review.full_fit import full_fit
from grande_gnn.review.quick import QuickAnswer, answer_of


@pytest.fixture
def full(out):
    return Labelling.load(out)


@pytest.fixture
def quick(full):
    return QuickAnswer(full)


def given_of(full):
    return {row: label for row, label in enumerate(full.given) if label}


def test_without_new_labels_it_is_the_full_answer(full, quick):
    answer = quick.answer(given_of(full))
    assert answer.labels == full.labels
    np.testing.assert_array_equal(answer.confidence, full.confidence)
    assert answer.is_provisional
    assert not answer_of(full).is_provisional


def test_labels_are_obeyed_also_those_of_a_new_class(full, quick):
    other = {**given_of(full), 20: "violet", 30: "red" if full.labels[30] != "red" else "blue"}
    answer = quick.answer(other)
    assert all(answer.labels[row] == label for row, label in other.items())
    assert ((answer.confidence >= 0) & (answer.confidence <= 1)).all()
    assert all(
        a != b for a, b in zip(answer.labels, answer.runner_up, strict=True) if a not in other.values()
    )


@pytest.mark.parametrize(("lost", "instead"), [("blue", "green"), ("green", "red"), ("red", "blue")])
def test_a_class_that_lost_its_labels_is_answered_no_more(full, quick, lost, instead):
    given = {row: instead if label == lost else label for row, label in given_of(full).items()}
    answer = quick.answer(given)
    assert lost in full.labels
    assert lost not in answer.labels
    assert np.isfinite(answer.confidence).all()


def test_the_answer_is_that_of_other_labels(full, quick):
    other = {**given_of(full), 20: "red", 21: "red", 22: "green"}
    del other[0]
    now = [other.get(row, "") for row in range(36)]
    then, codes = (
        np.array([quick.classes.index(label) if label else -1 for label in labels])
        for labels in (full.given, now)
    )
    p = OtherLabels(full.classifier, quick.components).probabilities(then, codes, 3)
    expected = [label or quick.classes[c] for label, c in zip(now, p.argmax(axis=1), strict=True)]
    answer = quick.answer(other)
    assert answer.labels == expected
    changed = [row for row in range(36) if expected[row] != full.labels[row]]
    stays = [row for row in range(36) if expected[row] == full.labels[row]]
    np.testing.assert_array_equal(answer.confidence[changed], p.max(axis=1)[changed])
    np.testing.assert_array_equal(answer.confidence[stays], full.confidence[stays])


def test_another_training_is_answered_from_the_same_components(full, quick):
    labels = given_of(full) | {20: "red", 25: "green"}
    trained = full_fit(full, {full.files[row]: label for row, label in labels.items()})
    more = labels | {27: "blue", 31: "red"}
    again, fresh = quick.after(trained).answer(more), QuickAnswer(trained).answer(more)
    assert again.labels == fresh.labels
    np.testing.assert_array_equal(again.confidence, fresh.confidence)
    assert quick.after(trained).components is quick.components


def test_it_agrees_with_the_full_training_on_most_images(full, quick):
    truth = ["red", "green", "blue"]
    rows = np.argsort(full.confidence)[:6].tolist()
    labels = given_of(full) | {row: truth[row % 3] for row in rows}
    trained = full_fit(full, {full.files[row]: label for row, label in labels.items()})
    agree = [a == b for a, b in zip(quick.answer(labels).labels, trained.labels, strict=True)]
    stale = [a == b for a, b in zip(full.labels, trained.labels, strict=True)]
    assert np.mean(agree) >= max(0.85, np.mean(stale))
