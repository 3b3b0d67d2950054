"""All classes count the same; only a label that is contradicted counts less than the others of its class."""

import numpy as np
import pytest

from grande_gnn.classifier.halves import Halves, split_halves
from grande_gnn.classifier.label_weights import LEAST_TRUST, balanced_weights, trust_in_labels


def test_every_class_has_the_same_share_and_the_mean_is_one():
    codes = np.array([0] * 8 + [1] * 3 + [2] + [-1] * 5)
    weights = balanced_weights(codes)
    np.testing.assert_allclose([weights[codes == c].sum() for c in range(3)], 4)
    np.testing.assert_allclose(weights[codes >= 0].mean(), 1)
    assert not weights[codes < 0].any()
    np.testing.assert_allclose(balanced_weights(np.array([1, 0, 1, 0, -1])), [1, 1, 1, 1, 0])


def test_trust_moves_weight_inside_a_class_and_never_between_classes():
    codes = np.array([0, 0, 1, 1, -1])
    weights = balanced_weights(codes, np.array([0.25, 0.75, 0.1, 0.1, 1.0]))
    np.testing.assert_allclose(weights, [0.5, 1.5, 1, 1, 0])


def test_a_class_without_labels_is_no_obstacle():
    np.testing.assert_allclose(balanced_weights(np.array([0, 2, 2])), [1.5, 0.75, 0.75])


def halves_of(codes, p):
    """Both halves say the same probabilities."""
    return Halves(codes, split_halves(codes), (p, p))


@pytest.fixture
def answers():
    """Six labels of each of three classes; the held-out answers are right and sure."""
    codes = np.arange(21) % 3
    codes[18:] = -1
    return codes, np.where(np.eye(3)[np.arange(21) % 3] > 0, 0.9, 0.05)


def test_labels_that_nobody_contradicts_are_trusted(answers):
    codes, p = answers
    np.testing.assert_array_equal(trust_in_labels(halves_of(codes, p), 21), np.ones(21))
    np.testing.assert_array_equal(trust_in_labels(None, 21), np.ones(21))


def test_a_contradicted_label_is_trusted_by_its_share(answers):
    codes, p = answers
    p[0], p[1] = [0.01, 0.01, 0.98], [0.45, 0.5, 0.05]  # sample 0 is contradicted; sample 1 is right, barely
    p[2] = [0.75, 0.0, 0.25]
    trust = trust_in_labels(halves_of(codes, p), 21)
    np.testing.assert_allclose(trust[:3], [LEAST_TRUST, 1.0, 0.25])
    assert (trust[3:] == 1).all()


def test_an_unsure_contradiction_is_none(answers):
    codes, p = answers
    p[0] = [0.05, 0.6, 0.35]
    assert trust_in_labels(halves_of(codes, p), 21).min() == 1


def test_answers_that_are_often_wrong_contradict_nothing(answers):
    codes, p = answers
    assert trust_in_labels(halves_of(codes, p[:, [1, 2, 0]]), 21).min() == 1


def test_a_half_cannot_contradict_a_class_that_it_does_not_know(answers):
    codes, p = answers
    codes = np.where((codes == 2) & (np.arange(21) > 2), -1, codes)
    p[2] = [1.0, 0.0, 0.0]
    assert trust_in_labels(halves_of(codes, p), 21)[2] == 1


@pytest.mark.parametrize(
    ("n_labels", "expected"), [(2, 1.0), (3, 1.0), (4, 0.55), (5, 0.55), (6, 0.1), (7, 0.1)]
)
def test_a_half_that_knows_few_labels_of_a_class_contradicts_only_in_part(n_labels, expected):
    """The contradicted label is in the larger half of its class if the number is odd, so the other half has n // 2."""
    codes = np.concatenate([np.zeros(n_labels), np.ones(8), np.full(4, -1)]).astype(np.int64)
    p = np.where(np.eye(2)[np.maximum(codes, 0)] > 0, 0.9, 0.1)
    first, second = split_halves(codes)
    row = np.flatnonzero(first & (codes == 0))[0]
    assert np.sum(codes[second] == 0) == n_labels // 2
    p[row] = [0.1, 0.9]
    assert trust_in_labels(halves_of(codes, p), len(codes))[row] == pytest.approx(expected)
