"""Logistic regression as a member: the same as scikit-learn's, and trusted only when it is clearly better."""

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from grande_gnn.classifier import graph_free as module
from grande_gnn.classifier.graph_free import GraphFree, is_clearly_better


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_it_is_weighted_logistic_regression(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    codes = np.where(np.arange(60) < 40, np.arange(60) % n_classes, -1)
    weights = rng.uniform(0.2, 2, 60)
    known = codes >= 0
    expected = LogisticRegression(max_iter=300).fit(X[known], codes[known], sample_weight=weights[known])
    member = GraphFree.train(X, codes, weights, n_classes)
    np.testing.assert_allclose(member.probabilities(X), expected.predict_proba(X), atol=1e-6)


def test_a_class_without_labels_and_a_single_class_are_no_obstacle():
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    codes = np.array([0, 2] * 5 + [-1] * 10)
    member = GraphFree.train(X, codes, np.ones(20), 4)
    assert member.coefficients.shape == (3, 4)
    assert not member.coefficients[:, [1, 3]].any()
    assert np.isfinite(member.probabilities(X)).all()
    alone = GraphFree.train(X, np.where(codes == 2, 2, -1), np.ones(20), 4)
    np.testing.assert_allclose(alone.probabilities(X), 0.25)


@pytest.mark.parametrize(
    ("better", "worse", "expected"),
    [(60, 0, True), (8, 4, False), (9, 0, True), (0, 20, False), (1, 0, False)],
)
def test_clearly_better_means_more_than_the_noise(better, worse, expected):
    ours, theirs = np.zeros(100), np.zeros(100)
    ours[:better] = 1
    theirs[better : better + worse] = 1
    assert is_clearly_better(ours, theirs) == expected


def test_one_label_shows_nothing():
    assert not is_clearly_better(np.ones(1), np.zeros(1))


@pytest.mark.parametrize("block", [1, 50, 10**6])
def test_probabilities_come_in_blocks_of_rows(monkeypatch, block):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 5)).astype(np.float32)
    member = GraphFree(rng.normal(size=(5, 4)), rng.normal(size=4))
    monkeypatch.setattr(module, "BLOCK", block)
    parts = list(member.in_blocks(X))
    assert len(parts) == -(-41 // max(1, block // 5))
    whole = softmax(member.logits(X), axis=1)
    np.testing.assert_allclose(np.concatenate([p for _, p in parts]), whole, atol=1e-6)
    np.testing.assert_allclose(member.probabilities(X), whole, atol=1e-6)


def test_classes_that_are_not_known_have_no_probability():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 5)).astype(np.float32)
    member = GraphFree(rng.normal(size=(5, 4)), rng.normal(size=4))
    ((_, p),) = member.in_blocks(X, known=[0, 2])
    assert not p[:, [1, 3]].any()
    np.testing.assert_allclose(p[:, [0, 2]], softmax(member.logits(X)[:, [0, 2]], axis=1), atol=1e-6)


@pytest.mark.parametrize(("large", "expected"), [(10**9, 1), (1, 2)])
def test_small_fits_use_one_thread_and_the_setting_is_restored(monkeypatch, large, expected):
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    used, fit = [], module.fit_logistic_regression
    monkeypatch.setattr(module, "LARGE", large)
    monkeypatch.setattr(
        module, "fit_logistic_regression", lambda *a: used.append(torch.get_num_threads()) or fit(*a)
    )
    usual = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        GraphFree.train(X, np.arange(20) % 2, np.ones(20), 2)
        assert (used, torch.get_num_threads()) == ([expected], 2)
    finally:
        torch.set_num_threads(usual)
