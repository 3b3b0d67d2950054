"""Contradicted labels are suspicious, doubtful ones are not, and planted ones are found."""

import numpy as np
import pytest

from grande_gnn.labelling.correctness import fit_correctness
from grande_gnn.labelling.suspicion import WRONG_ABOVE, own_shares, suspicious_labels


def made(wrong, n=300, c=6, seed=0):
    """Calibrated probabilities, and labels of which a share is replaced."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(c, 0.05), n)
    truth = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    is_wrong = rng.random(n) < wrong
    labels = np.where(is_wrong, (truth + rng.integers(1, c, n)) % c, truth)
    return p, labels, is_wrong


def flagged(p, labels):
    own = own_shares(p, labels)
    right = (p.argmax(axis=1) == labels).astype(float)
    curve = fit_correctness(p.max(axis=1), right, own=own, n_classes=p.shape[1])
    found = np.zeros(len(labels), dtype=bool)
    found[[i for i, _ in suspicious_labels(curve, p, labels)]] = True
    return found, curve


def test_the_share_of_the_own_class_is_of_the_powers_that_the_winner_leaves():
    p = np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [1.0, 0.0, 0.0]])
    one, between, two = own_shares(p, np.array([1, 0, 2])).T
    np.testing.assert_allclose(one, [0.75, 1.0, 0.0])
    np.testing.assert_allclose(between, [3**1.5 / (3**1.5 + 1), 1.0, 0.0])
    np.testing.assert_allclose(two, [0.9, 1.0, 0.0])


@pytest.mark.parametrize("seed", range(3))
def test_planted_wrong_labels_are_found(seed):
    p, labels, is_wrong = made(0.1, seed=seed)
    found, _ = flagged(p, labels)
    assert is_wrong[found].mean() >= 0.6
    assert found[is_wrong].mean() >= 0.6


@pytest.mark.parametrize("seed", range(3))
def test_few_labels_of_clean_data_are_suspicious(seed):
    p, labels, _ = made(0.0, seed=seed)
    found, _ = flagged(p, labels)
    assert (p.argmax(axis=1) != labels).sum() > 20  # many predictions are wrong
    assert found.sum() <= 3


def test_the_likeliest_mistake_comes_first_with_the_class_that_contradicts_it():
    p, labels, _ = made(0.1)
    _, curve = flagged(p, labels)
    asked = np.array([[0.9, 0.001, 0.099], [0.999, 0.0001, 0.0009], [0.2, 0.45, 0.35], [0.0, 1.0, 0.0]])
    found = suspicious_labels(curve, asked, np.ones(4, dtype=int))
    assert found == [(1, 0), (0, 0)]
    likely = curve.wrong_label(np.array([0.9, 0.999]), np.array([[0.01] * 3, [0.1] * 3]), 3)
    assert (likely > WRONG_ABOVE).all()
