"""Weights and temperatures are the maxima of what they should maximize, and equal where labels are few."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from grande_gnn.classifier.stacking import PSEUDO_COUNT, SPREAD, member_temperature, stacked_weights


def test_without_labels_members_are_equal_and_temperatures_one():
    np.testing.assert_array_equal(stacked_weights(np.empty((0, 5))), np.full(5, 0.2))
    assert member_temperature(np.empty((0, 3)), np.empty(0, dtype=np.int64)) == 1.0


def test_a_single_member_has_all_the_weight():
    np.testing.assert_allclose(stacked_weights(np.random.default_rng(0).random((9, 1))), [1])


@pytest.mark.parametrize("n", [3, 200])
def test_the_weights_maximize_the_penalized_likelihood(n):
    likelihoods = np.random.default_rng(0).beta([1, 2, 4], [2, 2, 1], size=(n, 3))

    def loss(z):
        w = softmax([*z, 0.0])
        return -np.log(likelihoods @ w).sum() - PSEUDO_COUNT * np.log(w).sum()

    best = softmax([*minimize(loss, [0.0, 0.0], tol=1e-12).x, 0.0])
    np.testing.assert_allclose(stacked_weights(likelihoods), best, atol=1e-4)


def test_few_labels_leave_the_weights_almost_equal_and_many_do_not():
    good_and_bad = np.array([[0.9, 0.1]])
    few, many = (stacked_weights(np.repeat(good_and_bad, n, axis=0)) for n in (3, 1000))
    assert few[0] < 0.53
    assert many[0] > 0.9


@pytest.mark.parametrize("true", [0.5, 1.0, 2.0])
def test_the_temperature_of_many_labels_is_found_whatever_it_is(true):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 4)) * 2
    labels = np.array([rng.choice(4, p=p) for p in softmax(logits / true, axis=1)])
    assert member_temperature(logits, labels) == pytest.approx(true, rel=0.1)


def test_the_temperature_minimizes_loss_and_prior():
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(size=(12, 3)), rng.integers(0, 3, 12)

    def cost(t):
        fit = -log_softmax(logits / t, axis=1)[np.arange(12), labels].sum()
        return fit + (np.log(t) / SPREAD) ** 2 / 2

    found = member_temperature(logits, labels)
    assert cost(found) <= min(cost(t) for t in np.geomspace(0.1, 10, 400)) + 1e-6


def test_one_sure_and_right_label_does_not_make_a_member_certain():
    assert 0.5 < member_temperature(np.array([[3.0, 0.0]]), np.array([0])) < 1
