"""Calibration keeps the winner, sums to one, and gives the mean confidence that is asked for."""

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from grande_gnn.labelling.calibration import Calibration, fit_calibration, with_winner
from grande_gnn.labelling.correctness import Correctness

CURVE = Correctness(np.array([-0.5]), np.array([0.7]), np.array([1.0]), np.eye(1, 13))


def made(n=400, c=5, sharpness=4.0, seed=2):
    return softmax(np.random.default_rng(seed).normal(size=(n, c)) * sharpness, axis=1)


@pytest.mark.parametrize("offset", [None, -2.0, 0.0, 2.0])
@pytest.mark.parametrize("slope", [0.5, 1.3])
def test_calibration_keeps_the_winner_and_sums_to_one(offset, slope):
    p = made(500, 4, 3.0, 1)
    out = Calibration(2.0, offset, slope).probabilities(p)
    assert np.allclose(out.sum(axis=1), 1)
    assert (out >= 0).all()
    np.testing.assert_array_equal(out.argmax(axis=1), p.argmax(axis=1))


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


def test_results_of_version_0_1_keep_their_formula():
    """p ∝ p^(1/T), then half of the winner's log-odds plus the offset: their settings.json names no slope."""
    p = np.array([[0.9, 0.06, 0.04]])
    tempered = p ** (1 / 1.9)
    top = tempered[0, 0] / tempered.sum()
    out = Calibration(1.9, 1.1).probabilities(p)
    assert out[0, 0] == pytest.approx(expit(0.5 * logit(top) + 1.1))


def test_a_winner_gets_the_confidence_it_is_given_unless_it_would_lose():
    p = np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])
    out = with_winner(p, np.array([0.8, 0.1]))
    np.testing.assert_allclose(out[0], [0.8, 0.15, 0.05])
    assert out[1, 0] == pytest.approx(out[1, 1], rel=1e-4)  # almost a tie
    assert out[1, 0] > out[1, 1]
    np.testing.assert_allclose(out.sum(axis=1), 1)
    np.testing.assert_allclose(with_winner(np.ones((2, 1)), np.array([0.3, 0.4])), 1)


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.95])
def test_mean_confidence_is_the_expected_accuracy(accuracy):
    p = made()
    fitted = fit_calibration(CURVE, p, accuracy)
    assert fitted.probabilities(p).max(axis=1).mean() == pytest.approx(accuracy, abs=1e-4)
    assert fitted.temperature == 1.0


def test_the_slope_is_that_of_the_curve():
    p = made()
    assert fit_calibration(CURVE, p, 0.8).slope == pytest.approx(0.7, abs=0.01)
    assert fit_calibration(CURVE, np.full((5, 2), 0.5), 0.8).slope == 1.0  # all alike: nothing to see


def test_the_curve_and_its_own_accuracy_give_the_curve_back():
    p = made()
    expected = CURVE.probability(p.max(axis=1))
    out = fit_calibration(CURVE, p, float(expected.mean())).probabilities(p).max(axis=1)
    wins = expected > 0.5  # below, a runner-up may be in the way
    np.testing.assert_allclose(out[wins], expected[wins], atol=0.02)


def test_unfamiliar_samples_are_made_up_for_by_the_others():
    p, familiarity = made(), np.where(np.arange(400) < 40, 0.5, 1.0)
    out = fit_calibration(CURVE, p, 0.7, familiarity).probabilities(p).max(axis=1)
    assert (out * familiarity).mean() == pytest.approx(0.7, abs=1e-4)


def test_only_the_samples_that_are_asked_about_count():
    p, asked = made(), np.arange(400) % 3 == 1
    familiarity = np.where(np.arange(400) % 5 == 0, 0.5, 1.0)
    few = fit_calibration(CURVE, p, 0.7, familiarity, asked)
    assert few == fit_calibration(CURVE, p[asked], 0.7, familiarity[asked])
    assert few != fit_calibration(CURVE, p, 0.7, familiarity)
    assert fit_calibration(CURVE, p, 0.7, asked=np.zeros(400, dtype=bool)) == Calibration()


def test_what_cannot_be_reached_is_approached():
    p = made()
    assert fit_calibration(CURVE, p, 1.0).probabilities(p).max(axis=1).mean() > 0.999
    low = fit_calibration(CURVE, p, 0.0).probabilities(p).max(axis=1)
    assert (low >= 1 / 5 - 1e-9).all()
    assert fit_calibration(CURVE, np.ones((3, 1)), 0.5) == Calibration()
