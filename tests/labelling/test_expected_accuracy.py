"""The estimate holds the truth on made data, and each source of doubt moves it as its formula says."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from grande_gnn.labelling.correctness import Correctness, fit_correctness
from grande_gnn.labelling.expected_accuracy import Sources, draw_accuracy, flagged_share, unseen_share

KNOWN = Correctness(np.array([0.0]), np.array([1.0]), np.array([1.0]), np.eye(1, 13))
"""A curve without doubt: confidences are probabilities."""

PLAIN = Sources(KNOWN, np.full(100, 0.8), 0.8)


def ends(**changes):
    estimate = draw_accuracy(replace(PLAIN, **changes)).estimate(50)
    return estimate.value, estimate.low, estimate.high


def test_without_doubt_the_estimate_is_the_mean_confidence():
    confidence = np.array([0.5, 0.9, 0.6, 0.8])
    value, low, high = ends(confidence=confidence, held_out=None)
    assert value == pytest.approx(0.7, abs=2e-3)
    assert low == pytest.approx(high)


def test_the_interval_holds_the_truth_on_made_data():
    """Labels and unlabelled samples follow one curve; 95 % intervals, of which most must hold."""
    held, widths = 0, []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x, u = rng.normal(1.5, 2, 60), rng.normal(1.5, 2, 400)
        right = rng.random(60) < expit(-0.4 + 0.7 * x)
        truth = (rng.random(400) < expit(-0.4 + 0.7 * u)).mean()
        sources = Sources(fit_correctness(expit(x), right), expit(u), right.mean(), n_unlabelled=400)
        e = draw_accuracy(sources).estimate(60)
        held += e.low <= truth <= e.high
        widths.append(e.high - e.low)
    assert 90 <= held <= 99
    assert 0.15 < np.mean(widths) < 0.3


def test_half_of_a_difference_from_held_out_labels_is_doubted_to_both_sides():
    value, low, high = ends(held_out=1.0)
    assert value == pytest.approx(0.8, abs=5e-3)
    assert (low, high) == (pytest.approx(0.8 - 0.095, abs=3e-3), pytest.approx(0.8 + 0.095, abs=3e-3))


def test_labels_that_are_no_random_sample_may_differ_twice_as_much():
    value, low, high = ends(held_out=1.0, is_random_sample=False)
    assert value == pytest.approx(0.8 - 0.05, abs=5e-3)
    assert (low, high) == (pytest.approx(0.8 - 0.1925, abs=6e-3), pytest.approx(0.8 + 0.0925, abs=6e-3))


def test_other_confidences_are_right_as_often():
    value, low, high = ends(instead=np.full(100, 0.4))
    other = float(PLAIN.curve.weights @ PLAIN.curve.accuracies(np.full(100, 0.4)))
    assert value == pytest.approx((0.8 + other) / 2, abs=0.01)
    assert low == pytest.approx(other, abs=0.01)
    assert high == pytest.approx(0.8, abs=0.01)


def test_the_gain_lies_between_nothing_and_the_right_share_of_the_disagreement():
    value, low, high = ends(disagreement=0.1)
    assert value == pytest.approx(0.8 + 0.04, abs=3e-3)
    assert (low, high) == (pytest.approx(0.802, abs=4e-3), pytest.approx(0.878, abs=4e-3))


def test_unseen_classes_are_believed_between_nothing_and_twice():
    value, low, high = ends(unseen=0.1)
    assert value == pytest.approx(0.8 * 0.9, abs=3e-3)
    assert (low, high) == (pytest.approx(0.8 * 0.805, abs=3e-3), pytest.approx(0.8 * 0.995, abs=3e-3))


def test_few_unlabelled_samples_leave_chance():
    _, low, high = ends(n_unlabelled=25)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.8 * 0.2 / 25), abs=0.03)


def test_chance_is_what_the_confidences_leave_open():
    """Half of the samples are surely right and half are right half of the time: only the second half is left to chance."""
    confidence = np.tile([1.0, 0.5], 200)
    _, low, high = ends(confidence=confidence, held_out=None, n_unlabelled=400)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.125 / 400), rel=0.05)


def test_the_spread_names_the_sources():
    spread = draw_accuracy(replace(PLAIN, held_out=1.0, disagreement=0.3, unseen=0.1)).spread
    uniform = 1 / np.sqrt(12)
    assert spread["labels"] < 1e-12
    assert spread["shift"] == pytest.approx(0.2 * uniform, rel=0.05)
    assert spread["gain"] == pytest.approx(0.3 * 0.8 * uniform, rel=0.05)
    assert spread["unseen"] == pytest.approx(0.2 * 0.8 * uniform, rel=0.05)


def test_the_same_sources_give_the_same_draws():
    np.testing.assert_array_equal(draw_accuracy(PLAIN).values, draw_accuracy(PLAIN).values)


def test_flagged_samples_lose_no_more_than_they_have():
    flagged = np.array([True, True, False, False])
    assert flagged_share(np.full(4, 0.6), flagged) == pytest.approx(0.5)
    assert flagged_share(np.array([0.0, 0.0, 1.0, 1.0]), flagged) == 0
    assert flagged_share(np.array([0.1, 0.2, 0.9, 0.8]), flagged) == pytest.approx(0.15)
    assert flagged_share(np.zeros(2), np.ones(2, dtype=bool)) == 0


def test_the_share_of_unseen_classes_is_good_and_turings():
    assert unseen_share(np.array([0, 0, 1, 1])) == 0
    assert unseen_share(np.array([0, 0, 0, 1, 2])) == pytest.approx(0.4 * 0.6)
    assert unseen_share(np.arange(5)) == 0  # one label each is a choice
    assert unseen_share(np.array([], dtype=int)) == 0
