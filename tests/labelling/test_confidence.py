"""Calibration, the accuracy estimate, outliers and suspicious labels."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

from grande_gnn.classifier.held_out import HeldOut
from grande_gnn.labelling.confidence import (
    Calibration,
    estimate_accuracy,
    fit_offset,
    fit_temperature,
    outlier_limit,
    reliability_bins,
    suspicious_labels,
    wilson_interval,
)


def sampled(n: int, c: int, sharpness: float) -> HeldOut:
    """Labels drawn from softmax(logits); the logits are then made too sharp by a factor."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, c)) * 2
    labels = np.array([rng.choice(c, p=p) for p in softmax(logits, axis=1)])
    return HeldOut(np.arange(n), labels, logits * sharpness)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 4.0])
def test_the_temperature_undoes_a_known_sharpness(sharpness):
    assert fit_temperature(sampled(4000, 5, sharpness)) == pytest.approx(sharpness, rel=0.1)


def test_the_temperature_stays_finite_when_everything_is_right():
    assert 0 < fit_temperature(HeldOut(np.arange(3), np.arange(3), np.eye(3))) < np.inf


@pytest.mark.parametrize("offset", [None, -2.0, 0.0, 2.0])
def test_calibration_keeps_the_winner_and_sums_to_one(offset):
    p = softmax(np.random.default_rng(1).normal(size=(500, 4)) * 3, axis=1)
    out = Calibration(2.0, offset).probabilities(p)
    assert np.allclose(out.sum(axis=1), 1)
    assert (out >= 0).all()
    winner = out[np.arange(len(p)), p.argmax(axis=1)]
    assert (winner >= out.max(axis=1) - 1e-12).all()


@pytest.mark.parametrize("rest", [1e-5, 1e-9, 1e-15, 0.0])
@pytest.mark.parametrize("shares", [(1.0,), (0.7, 0.2, 0.1)])
@pytest.mark.parametrize("offset", [-10.0, -2.0, 2.0])
def test_very_sure_images_sum_to_one_too(rest, shares, offset):
    p = np.array([[1 - rest, *(rest * share for share in shares)]])
    out = Calibration(0.5, offset).probabilities(p)[0]
    assert out.sum() == pytest.approx(1, abs=1e-12)
    assert out[0] >= out.max() - 1e-12


def test_the_others_share_in_proportion_and_evenly_where_nothing_is_left():
    p = np.array([[0.4, 0.36, 0.24], [1 - 1e-9, 6e-10, 4e-10], [1.0, 0.0, 0.0]])
    out = Calibration(1.0, -0.5).probabilities(p)
    others = out[:, 1:] / out[:, 1:].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(others, [[0.6, 0.4], [0.6, 0.4], [0.5, 0.5]])


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.95])
def test_the_offset_makes_mean_confidence_the_expected_accuracy(accuracy):
    p = softmax(np.random.default_rng(2).normal(size=(400, 5)) * 4, axis=1)
    confidence = fit_offset(1.0, p, accuracy).probabilities(p).max(axis=1)
    assert confidence.mean() == pytest.approx(accuracy, abs=1e-3)


def test_one_class_needs_no_offset():
    assert fit_offset(1.0, np.ones((3, 1)), 0.5) == Calibration(1.0)


def test_wilson_is_the_set_of_shares_not_rejected_by_the_score_test():
    low, high = wilson_interval(8, 10)
    for end in (low, high):
        assert abs(0.8 - end) / np.sqrt(end * (1 - end) / 10) == pytest.approx(norm.ppf(0.975))


def test_the_estimate_lies_between_its_two_views():
    e = estimate_accuracy(0.9, 0.8, 100)
    assert e.value == pytest.approx(0.85)
    assert e.low < 0.85 < e.high
    assert estimate_accuracy(0.9, 0.8, 1000).high < e.high  # more labels, narrower


def test_reliability_bins_hold_everybody_once():
    confidence, right = np.array([0.05, 0.55, 0.59, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    bins = reliability_bins(confidence, right)
    assert [b.count for b in bins] == [1, 0, 0, 0, 0, 2, 0, 0, 0, 1]
    assert (bins[5].low, bins[5].high) == (0.5, 0.6)
    assert (bins[5].confidence, bins[5].accuracy) == (pytest.approx(0.57), 0.5)


def test_only_the_lonely_are_outliers():
    distances = np.append(np.random.default_rng(3).uniform(1, 2, 200), 50.0)
    assert np.flatnonzero(distances > outlier_limit(distances)).tolist() == [200]
    assert outlier_limit(np.array([np.inf, np.inf])) == np.inf  # too few samples to have a fifth neighbour


def test_a_contradicted_label_is_suspicious_and_a_doubtful_one_is_not():
    logits = np.log(np.array([[0.05, 0.95], [0.45, 0.55], [0.9, 0.1]]))
    held_out = HeldOut(np.array([4, 7, 9]), np.array([0, 0, 0]), logits)
    assert suspicious_labels(held_out, Calibration()) == [(4, 1, pytest.approx(0.95))]
