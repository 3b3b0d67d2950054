"""Provisional answers: none without a model, from the nearest training, and exactly a training's own for its labels."""

from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.short_training import Trained, trained_of
from grande_gnn.review.provisional import Provisional
from grande_gnn.review.quick import QuickAnswer, basis_of


@pytest.fixture
def full(out):
    return Labelling.load(out)


@pytest.fixture
def provisional(full):
    answers = Provisional(full)
    yield answers
    answers.close()


def given_of(full):
    return {row: label for row, label in enumerate(full.given) if label}


def made(full, given, winner="blue"):
    """A short training that says the same of every image."""
    classes = trained_of(full).classes
    p = np.where(np.array(classes) == winner, 0.8, 0.1)
    return Trained(
        [given.get(row, "") for row in range(len(full.files))], classes, np.tile(p, (len(full.files), 1))
    )


def test_without_a_short_training_it_is_the_quick_answer(full, provisional):
    other = given_of(full) | {20: "red", 21: "green"}
    expected = QuickAnswer(full, basis_of(full)).answer(other)
    answer = provisional.answer(other)
    assert answer.labels == expected.labels
    np.testing.assert_array_equal(answer.confidence, expected.confidence)


def test_for_its_own_labels_a_short_training_answers_itself(full, provisional):
    other = given_of(full) | {20: "red", 21: "green"}
    provisional.offer(made(full, other))
    answer = provisional.answer(other)
    assert answer.labels == [other.get(row, "blue") for row in range(len(full.files))]
    assert answer.is_provisional


def test_the_nearest_training_counts(full, provisional):
    other = given_of(full) | {20: "red", 21: "green"}
    provisional.offer(made(full, other))
    one_more = other | {22: "red"}
    assert provisional.answer(one_more).labels.count("blue") > len(full.files) / 2
    # One decision from the full training and one from the short one: the full one is better.
    one_less = given_of(full) | {20: "red"}
    assert provisional.answer(one_less).labels == QuickAnswer(full, basis_of(full)).answer(one_less).labels


def test_a_later_full_training_takes_over(full, provisional):
    other = given_of(full) | {20: "red", 21: "green"}
    provisional.offer(made(full, other))
    later = full.corrected({full.files[20]: "red", full.files[21]: "green"})
    provisional.renew(later)
    assert provisional.answer(other).labels == later.labels
    more = other | dict.fromkeys(range(24, 30), "green")
    expected = QuickAnswer(later, basis_of(later)).answer(more)
    assert expected.labels != QuickAnswer(full, basis_of(full)).answer(more).labels
    assert provisional.answer(more).labels == expected.labels


def test_without_a_model_there_is_no_answer_until_one_is_trained(full):
    answers = Provisional(replace(full, classifier=None))
    assert answers.answer({0: "red"}) is None
    answers.renew(full)
    assert answers.answer(given_of(full)).labels == full.labels
    answers.close()
