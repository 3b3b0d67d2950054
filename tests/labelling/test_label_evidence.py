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
    weights = class_weights(np.repeat([0, 1], 500), np.array([1500.0, 500.0]))
    np.testing.assert_allclose(weights, [1.5, 0.5], rtol=0.01)
    extreme = class_weights(np.repeat([0, 1], [990, 10]), np.array([10.0, 990.0]))
    np.testing.assert_allclose(extreme, [1 / 3, 3])
    np.testing.assert_allclose(class_weights(np.arange(3), np.ones(3)), 1)


def test_unequal_importance_loses_labels():
    assert with_effective_size(np.ones(4), np.ones(4)).tolist() == [1, 1, 1, 1]
    weights = with_effective_size(np.ones(4), np.array([1.0, 1.0, 3.0, 3.0]))
    assert weights.sum() == pytest.approx(8**2 / 20)
    assert weights[2] == pytest.approx(3 * weights[0])
    assert with_effective_size(np.array([0.5, 1.0]), np.ones(2)).sum() == pytest.approx(1.5)
    assert with_effective_size(np.zeros(2), np.ones(2)).tolist() == [0, 0]
