"""Logistic regression in torch takes the steps of scikit-learn's, and its gradient is that of its loss."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from grande_gnn.classifier import logistic_regression as module
from grande_gnn.classifier.logistic_regression import fit_logistic_regression


def _samples(n, d, c, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % c
    x = 2 * rng.normal(size=(c, d))[codes] + 3 * rng.normal(size=(n, d))
    return x.astype(np.float32), codes, rng.uniform(0.2, 2, n)


def _fitted(x, codes, weights, n_classes):
    return fit_logistic_regression(*(torch.from_numpy(part) for part in (x, codes, weights)), n_classes)


@pytest.mark.parametrize(("n", "d", "c"), [(60, 4, 2), (60, 4, 3), (300, 40, 20), (90, 100, 30)])
def test_the_probabilities_are_those_of_scikit_learn(n, d, c):
    """Both stop at the same step, long before the optimum of the larger cases; labels are the same but for rounding."""
    x, codes, weights = _samples(n, d, c)
    found = _fitted(x, codes, weights, c)
    theirs = LogisticRegression(max_iter=module.STEPS).fit(x, codes, sample_weight=weights)
    new = _samples(500, d, c, seed=1)[0]
    z = new.astype(np.float64) @ found[:-1] + found[-1]
    np.testing.assert_allclose(torch.softmax(torch.from_numpy(z), 1), theirs.predict_proba(new), atol=5e-4)
    assert (z.argmax(axis=1) == theirs.predict(new)).mean() >= 0.998


def test_of_two_classes_the_second_has_the_coefficients():
    found = _fitted(*_samples(40, 3, 2), 2)
    assert found.shape == (4, 2)
    assert not found[:, 0].any()
    assert found[:, 1].all()


@pytest.mark.parametrize("c", [2, 5])
def test_the_gradient_is_that_of_the_loss(c):
    x, codes, weights = _samples(30, 6, c)
    loss = module._Loss(*(torch.from_numpy(part) for part in (x, codes, weights)), c)
    at = np.random.default_rng(0).normal(scale=0.3, size=loss.shape).ravel()
    _, gradient = loss(at)
    for i in range(0, len(at), 3):
        step = np.zeros_like(at)
        step[i] = 1e-2
        slope = (loss(at + step)[0] - loss(at - step)[0]) / 2e-2
        assert gradient[i] == pytest.approx(slope, abs=1e-3)


def test_the_fit_ends_where_the_gradient_is_small():
    x, codes, weights = _samples(300, 40, 20)
    found = _fitted(x, codes, weights, 20)
    loss = module._Loss(*(torch.from_numpy(part) for part in (x, codes, weights)), 20)
    assert np.abs(loss(found.ravel())[1]).max() <= 1.01 * module.CLOSE
