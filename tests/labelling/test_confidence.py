"""Intervals of shares, reliability, calibration error and outliers."""

import numpy as np
import pytest
from scipy.stats import norm

from grande_gnn.labelling.confidence import (
    expected_calibration_error,
    outlier_limit,
    reliability_bins,
    wilson_interval,
)


def test_wilson_is_the_set_of_shares_not_rejected_by_the_score_test():
    low, high = wilson_interval(8, 10)
    for end in (low, high):
        assert abs(0.8 - end) / np.sqrt(end * (1 - end) / 10) == pytest.approx(norm.ppf(0.975))


def test_reliability_bins_hold_everybody_once():
    confidence, right = np.array([0.05, 0.55, 0.59, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    bins = reliability_bins(confidence, right)
    assert [b.count for b in bins] == [1, 0, 0, 0, 0, 2, 0, 0, 0, 1]
    assert (bins[5].low, bins[5].high) == (0.5, 0.6)
    assert (bins[5].confidence, bins[5].accuracy) == (pytest.approx(0.57), 0.5)


def test_only_the_lonely_are_outliers():
    distances = np.append(np.random.default_rng(3).uniform(1, 2, 200), 50.0)
    assert np.flatnonzero(distances > outlier_limit(distances)).tolist() == [200]
    assert outlier_limit(np.array([np.inf, np.inf])) == np.inf  # too few samples to have a fifth neighbor


def test_outliers_are_three_quartile_ranges_away_on_a_log_scale():
    logs = np.linspace(0, 1, 101)
    limit = np.exp(0.75 + 3 * 0.5)
    assert outlier_limit(np.exp(logs)) == pytest.approx(limit)


def test_the_calibration_error_is_the_mean_gap_of_bins_of_equal_mass():
    confidence = np.array([0.9, 0.2, 0.8, 0.3])
    right = np.array([1.0, 0.0, 0.0, 0.0])
    # the two least sure: 0.25 against 0; the two surest: 0.85 against 0.5
    assert expected_calibration_error(confidence, right, n_bins=2) == pytest.approx((0.25 + 0.35) / 2)
    assert expected_calibration_error(confidence, right, n_bins=1) == pytest.approx(0.55 - 0.25)
    assert expected_calibration_error(np.array([]), np.array([])) == 0


def test_outcomes_drawn_from_the_confidence_have_a_small_calibration_error():
    rng = np.random.default_rng(0)
    confidence = rng.random(20_000)
    assert expected_calibration_error(confidence, (rng.random(20_000) < confidence).astype(float)) < 0.015
