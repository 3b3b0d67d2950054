"""What the halves say is taken from the half that did not know, and only where it can answer."""

import numpy as np
import pytest

from grande_gnn.classifier.halves import Halves
from grande_gnn.labelling.half_views import label_weights, view_halves

CODES = np.array([0, 0, 1, 1, 2, -1, -1])
FIRST = np.array([True, False, True, False, True, False, False])
P1 = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.2, 0.5, 0.3],
               [0.1, 0.1, 0.8]])  # fmt: skip
P2 = np.array([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.3, 0.7, 0.0], [0.4, 0.6, 0.0], [0.5, 0.5, 0.0], [0.8, 0.2, 0.0],
               [0.9, 0.1, 0.0]])  # fmt: skip
FULL = np.array(
    [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0.9, 0.1, 0], [0, 0, 1]], dtype=float
)
HALVES = Halves(CODES, (FIRST, (CODES >= 0) & ~FIRST), (P1, P2))


def test_a_label_is_predicted_by_the_half_that_did_not_know_it():
    views = view_halves(HALVES, FULL)
    np.testing.assert_allclose(views.probabilities[[0, 1, 2, 3]], [P2[0], P1[1], P2[2], P1[3]], atol=1e-9)
    assert views.right.tolist() == [1, 1, 1, 0, 0]
    assert views.answerable.tolist() == [True, True, True, True, False]  # the second half knows no class 2
    np.testing.assert_allclose(views.confidence[:4], [0.9, 0.7, 0.7, 0.6])


def test_a_half_is_asked_about_unlabelled_samples_whose_class_it_knows():
    unlabelled = view_halves(HALVES, FULL).unlabelled
    # first half: samples 5 (disagrees) and 6; second half: sample 5 only
    np.testing.assert_allclose(unlabelled.confidence, [0.5, 0.8, 0.8])
    assert unlabelled.agrees.tolist() == [False, True, True]
    assert unlabelled.disagreement == pytest.approx(1 / 3)


def test_with_one_label_of_each_class_the_training_on_all_labels_may_be_right_as_well():
    codes = np.array([0, 1, 2, -1, -1, -1, -1])
    first = np.array([True, False, True, False, False, False, False])
    views = view_halves(Halves(codes, (first, (codes >= 0) & ~first), (P1, P2)), FULL)
    assert not views.answerable.any()
    np.testing.assert_allclose(views.unlabelled.instead, FULL[3:].max(axis=1))
    assert view_halves(HALVES, FULL).unlabelled.instead is None


def test_labels_that_cannot_be_answered_and_copies_count_less():
    views, copies = view_halves(HALVES, FULL), np.arange(7)
    features = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    weights = label_weights(views, HALVES, features, copies)
    assert weights[4] == 0
    assert (weights[:4] > 0).all()
    copies[1] = 0
    fewer = label_weights(views, HALVES, features, copies)
    assert fewer.sum() < weights.sum()
    assert fewer[0] < weights[0]


def test_a_bias_of_one_half_is_no_sign_of_another_distribution():
    """Each half sees labelled and unlabelled samples alike, but the halves differ: all labels weigh the same."""
    n = 400
    codes = np.where(np.arange(n) < 200, np.arange(n) % 2, -1)
    first = (np.arange(n) % 8 < 6) & (codes >= 0)
    one, other = np.tile([0.9, 0.1], (n, 1)), np.tile([0.2, 0.8], (n, 1))
    halves = Halves(codes, (first, (codes >= 0) & ~first), (one, other))
    views = view_halves(halves, np.full((n, 2), 0.5))
    features = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    np.testing.assert_allclose(label_weights(views, halves, features, np.arange(n)), 1)


def test_labels_of_a_class_that_the_unlabelled_samples_have_more_of_weigh_more():
    n, rng = 900, np.random.default_rng(0)
    truth = np.where(np.arange(n) < 100, np.arange(n) % 2, (rng.random(n) < 0.75).astype(int))
    codes = np.where(np.arange(n) < 100, truth, -1)
    p = np.where(truth[:, None] == [0, 1], 0.95, 0.05)
    first = (np.arange(n) % 4 < 2) & (codes >= 0)
    halves = Halves(codes, (first, (codes >= 0) & ~first), (p, p))
    features = rng.normal(size=(n, 3)).astype(np.float32)
    weights = label_weights(view_halves(halves, p), halves, features, np.arange(n))
    assert weights[codes[:100] == 1].mean() > 2 * weights[codes[:100] == 0].mean()
