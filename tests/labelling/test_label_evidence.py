"""What labels in series, copies and uneven classes count for."""

import numpy as np
import pytest

from grande_gnn.labelling.label_evidence import (
    class_weights,
    copy_weights,
    series_correlation,
    series_weights,
    with_effective_size,
)


def walk(correlation, n=300, d=20, seed=0):
    """A stationary autoregressive series of features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for i in range(1, n):
        X[i] = correlation * X[i - 1] + np.sqrt(1 - correlation**2) * X[i]
    return X.astype(np.float32)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_the_correlation_of_a_series_is_measured(correlation):
    assert series_correlation(walk(correlation), np.zeros(300, dtype=int)) == pytest.approx(
        correlation, abs=0.12
    )


def test_only_labelled_neighbors_of_one_class_are_a_series():
    X = walk(0.9)
    assert series_correlation(X, np.arange(300) % 2) == 0.0
    assert series_correlation(X, np.where(np.arange(300) % 2, 0, -1)) == 0.0


def test_identical_images_in_a_row_count_once():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 4)), 2, axis=0).astype(np.float32)
    codes = np.tile([0, 0, -1, -1], 5)
    assert series_correlation(X, codes) == 1.0
    assert series_weights(codes, 1.0)[codes == 0].tolist() == [1.0, 0.0] * 5


def test_the_weight_of_a_long_series_is_the_variance_of_its_mean():
    """m autocorrelated values tell as much about their mean as m(1 − r)/(1 + r) independent ones."""
    r, m = 0.6, 400
    lags = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    variance = (r**lags).sum() / m**2
    assert series_weights(np.zeros(m, dtype=int), r).sum() == pytest.approx(1 / variance, rel=0.02)


def test_uncorrelated_series_count_in_full():
    codes = np.array([0, 0, 1, -1, 1])
    assert series_weights(codes, 0.0).tolist() == [1, 1, 1, 0, 1]


def test_copies_count_once_together():
    codes, copies = np.array([0, 0, 1, -1, 0]), np.array([0, 0, 2, 2, 0])
    np.testing.assert_allclose(copy_weights(codes, copies), [1 / 3, 1 / 3, 1, 0, 1 / 3])


def test_classes_are_weighted_by_their_share_of_the_images_within_bounds():
    labels = np.repeat([0, 1], 500)
    weights = class_weights(labels, np.ones(1000), np.eye(2)[labels], np.array([750.0, 250.0]))
    np.testing.assert_allclose(weights, [1.5, 0.5], rtol=0.02)
    labels = np.repeat([0, 1], [990, 10])
    extreme = class_weights(labels, np.ones(1000), np.eye(2)[labels], np.array([10.0, 990.0]))
    np.testing.assert_allclose(extreme, [1 / 3, 3])


def confused(n, shares, seed=0):
    """Labels with these shares of the classes, and predictions that mix class 2 up with class 0 most of the time."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n, p=shares)
    mean = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.6, 0.1, 0.3]])
    return labels, np.array([rng.dirichlet(20 * row) for row in mean[labels]])


def test_a_class_that_is_predicted_too_often_weighs_no_more():
    """Labels and unlabelled samples of equal shares, and class 0 predicted 1.6 times as often as it should be."""
    labels, held_out = confused(3000, [1 / 3] * 3)
    unlabelled = confused(3000, [1 / 3] * 3, seed=1)[1]
    assert unlabelled[:, 0].mean() > 0.5
    weights = class_weights(labels, np.ones(3000), held_out, unlabelled.sum(axis=0))
    np.testing.assert_allclose(weights, 1, atol=0.05)


def test_other_shares_are_found_behind_the_confusion():
    labels, held_out = confused(3000, [0.5, 0.25, 0.25])
    unlabelled = confused(30_000, [0.25, 0.25, 0.5], seed=1)[1]
    weights = class_weights(labels, np.ones(3000), held_out, 3000 * unlabelled.mean(axis=0))
    np.testing.assert_allclose(weights, [0.5, 1, 2], rtol=0.12)


def test_differences_that_may_be_chance_change_nothing():
    """Twelve labels at random: the most likely weights would be far from 1."""
    for seed in range(5):
        labels, held_out = confused(12, [1 / 3] * 3, seed=seed)
        expected = 12 * confused(30_000, [1 / 3] * 3, seed=9)[1].mean(axis=0)
        weights = class_weights(labels, np.ones(12), held_out, expected)
        np.testing.assert_allclose(weights, 1, atol=0.2)


def test_a_label_that_counts_half_tells_half_about_the_classes():
    labels, held_out = confused(200, [0.6, 0.2, 0.2])
    expected = 200 * confused(30_000, [1 / 3] * 3, seed=9)[1].mean(axis=0)
    once = class_weights(labels, np.ones(200), held_out, expected)
    ignored = class_weights(
        np.append(labels, 2), np.append(np.ones(200), 0.0), np.vstack([held_out, [0, 1, 0]]), expected
    )
    np.testing.assert_allclose(ignored, once)


def test_unequal_importance_loses_labels():
    assert with_effective_size(np.ones(4), np.ones(4)).tolist() == [1, 1, 1, 1]
    weights = with_effective_size(np.ones(4), np.array([1.0, 1.0, 3.0, 3.0]))
    assert weights.sum() == pytest.approx(8**2 / 20)
    assert weights[2] == pytest.approx(3 * weights[0])
    assert with_effective_size(np.array([0.5, 1.0]), np.ones(2)).sum() == pytest.approx(1.5)
    assert with_effective_size(np.zeros(2), np.ones(2)).tolist() == [0, 0]
