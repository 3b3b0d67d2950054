"""The posterior of the curve: where it lies, how broad it is, and what follows from it."""

import numpy as np
import pytest
from scipy.special import expit

from grande_gnn.labelling.correctness import WRONG, Correctness, fit_correctness, log_odds


def made(n, offset, slope, seed=0):
    """Confidences and outcomes that follow a known curve."""
    rng = np.random.default_rng(seed)
    x = rng.normal(1.5, 1.5, n)
    return expit(x), (rng.random(n) < expit(offset + slope * x)).astype(float)


@pytest.mark.parametrize(("offset", "slope"), [(0.0, 1.0), (-1.0, 0.5), (0.7, 1.6)])
def test_many_labels_recover_the_curve(offset, slope):
    curve = fit_correctness(*made(20_000, offset, slope))
    assert curve.weights.sum() == pytest.approx(1)
    assert curve.weights @ curve.offsets == pytest.approx(offset, abs=0.1)
    assert curve.weights @ curve.slopes == pytest.approx(slope, abs=0.06)
    c = np.array([0.3, 0.6, 0.9, 0.99])
    np.testing.assert_allclose(curve.probability(c), expit(offset + slope * log_odds(c)), atol=0.02)


def test_the_posterior_is_prior_times_likelihood():
    """Against a brute-force integral of the written-out formulas on a fine grid, for three classes."""
    c, right, own = (
        np.array([0.9, 0.6, 0.75, 0.99]),
        np.array([1.0, 0.0, 1.0, 0.0]),
        np.array([1, 0.5, 1, np.exp(-2)]),
    )
    a, b = np.meshgrid(np.linspace(-12, 12, 481), np.linspace(0, 3, 241), indexing="ij")
    prior = (1 + (a / 0.75) ** 2 / 3) ** -2 * (1 + ((b - 1) / 0.3) ** 2 / 3) ** -2
    joint = []
    for e in np.linspace(0, 0.3, 61):
        density = prior * np.exp(-e / 0.05)
        for x, hit, r in zip(np.log(c / (1 - c)), right, own, strict=True):
            q = 1 / (1 + np.exp(-(a + b * x)))
            by_prediction = 0.95 * r + 0.05 / 2
            by_label = 0.2 * by_prediction + 0.8 / 2
            density = density * ((1 - e) * q if hit else e * by_label + (1 - e) * (1 - q) * by_prediction)
        joint.append(density)
    density = np.sum(joint, axis=0)
    density /= density.sum()
    asked = np.array([0.55, 0.8, 0.95])
    expected = [(density / (1 + np.exp(-(a + b * x)))).sum() for x in np.log(asked / (1 - asked))]
    curve = fit_correctness(c, right, own=own, n_classes=3)
    np.testing.assert_allclose(curve.probability(asked), expected, atol=0.02)
    np.testing.assert_allclose(curve.wrong.sum(axis=1), 1)


def test_without_labels_a_confidence_is_believed_with_much_doubt():
    curve = fit_correctness(np.array([]), np.array([]))
    assert curve.probability(np.array([0.5])) == pytest.approx(0.5, abs=0.01)
    each = curve.accuracies(np.full(10, 0.8))
    mean = curve.weights @ each
    assert np.sqrt(curve.weights @ (each - mean) ** 2) > 0.1


def test_more_labels_leave_less_doubt():
    spreads = []
    for n in (10, 100, 1000):
        curve = fit_correctness(*made(n, -0.5, 0.8))
        each = curve.accuracies(made(500, 0, 1, seed=1)[0])
        spreads.append(np.sqrt(curve.weights @ (each - curve.weights @ each) ** 2))
    assert spreads[0] > 1.3 * spreads[1] > 1.3**2 * spreads[2]
    assert spreads[2] > 0.005


def test_a_label_of_weight_one_half_counts_half_and_of_weight_nothing_not_at_all():
    c, right = made(40, 0.0, 1.0)
    twice = fit_correctness(np.tile(c, 2), np.tile(right, 2), np.full(80, 0.5))
    once = fit_correctness(c, right)
    np.testing.assert_allclose(twice.probability(c), once.probability(c), atol=1e-9)
    more = fit_correctness(np.append(c, 0.99), np.append(right, 0.0), np.append(np.ones(40), 0.0))
    np.testing.assert_allclose(more.probability(c), once.probability(c), atol=1e-9)


def test_accuracies_are_the_means_of_each_curve():
    curve = Correctness(np.array([0.0, -1.0]), np.array([1.0, 0.5]), np.array([0.5, 0.5]), np.eye(2, 13))
    c = expit(np.array([-0.5, 0.0, 2.0, 3.5]))  # on the grid of bins
    expected = [expit(o + s * log_odds(c)).mean() for o, s in ((0.0, 1.0), (-1.0, 0.5))]
    np.testing.assert_allclose(curve.accuracies(c), expected, atol=1e-12)


def test_certainty_is_finite():
    assert log_odds(np.array([0.0, 0.5, 1.0])).tolist() == [-8.0, 0.0, 8.0]
    assert 0.9 < fit_correctness(np.ones(50), np.ones(50)).probability(np.ones(1))[0] < 1


def noisy(wrong, n=400, n_classes=10, seed=0):
    """Predictions that follow the diagonal, and labels of which a share is replaced by any other class."""
    rng = np.random.default_rng(seed)
    c = expit(rng.normal(2.5, 1.5, n))
    is_right, is_wrong = rng.random(n) < c, rng.random(n) < wrong
    agrees = is_right & ~is_wrong
    own = np.where(agrees, 1.0, np.where(is_wrong, rng.uniform(0, 0.1, n), rng.uniform(0.3, 0.9, n)))
    return c, agrees.astype(float), own, is_wrong


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.2])
def test_wrong_labels_do_not_count_as_wrong_predictions(wrong):
    c, agrees, own, _ = noisy(wrong)
    curve = fit_correctness(c, agrees, own=own, n_classes=10)
    assert curve.wrong_share == pytest.approx(wrong, abs=0.03)
    assert curve.probability(c).mean() == pytest.approx(c.mean(), abs=0.04)


def test_with_two_classes_labels_get_the_benefit_of_the_doubt():
    none = np.array([])
    two, many = (fit_correctness(none, none, n_classes=n).wrong_share for n in (2, 20))
    assert two < 0.015
    assert many > 0.07


def test_contradictions_by_unlikely_classes_are_wrong_labels():
    c, agrees, own, is_wrong = noisy(0.1)
    curve = fit_correctness(c, agrees, own=own, n_classes=10)
    missed = agrees == 0
    likely = curve.wrong_label(c[missed], own[missed], 10)
    assert ((likely >= 0) & (likely <= 1)).all()
    assert likely[is_wrong[missed]].mean() > 0.6
    assert likely[~is_wrong[missed]].mean() < 0.3


def test_a_wrong_label_is_as_likely_as_the_formula_says():
    """One curve and one share of wrong labels: Bayes' rule, written out."""
    share = WRONG[7]
    curve = Correctness(np.array([-1.0]), np.array([0.5]), np.array([1.0]), np.eye(1, 13, 7))
    q = expit(-1 + 0.5 * log_odds(np.array([0.9])))
    by_prediction = 0.8 * 0.2 + 0.2 / 9
    by_label = 0.2 * by_prediction + 0.8 / 9
    expected = share * by_label / (share * by_label + (1 - share) * (1 - q) * by_prediction)
    np.testing.assert_allclose(curve.wrong_label(np.array([0.9]), np.array([0.2]), 10), expected)


def test_a_surer_prediction_and_a_less_likely_class_make_a_label_more_doubtful():
    c, agrees, own, _ = noisy(0.1)
    curve = fit_correctness(c, agrees, own=own, n_classes=10)
    by_confidence = curve.wrong_label(np.array([0.5, 0.9, 0.99]), np.full(3, 0.1), 10)
    by_share = curve.wrong_label(np.full(3, 0.9), np.array([0.9, 0.2, 0.01]), 10)
    assert (np.diff(by_confidence) > 0).all()
    assert (np.diff(by_share) > 0).all()


def test_the_way_to_compute_shares_that_makes_the_labels_likelier_is_believed():
    """Clean labels: one way says that they have likely classes, the other that they are surprising."""
    c, agrees, own, _ = noisy(0.0)
    surprising = np.where(agrees > 0, 1.0, own / 100)
    curve = fit_correctness(c, agrees, own=np.stack([own, surprising], axis=1), n_classes=10)
    np.testing.assert_allclose(curve.ways, [1, 0], atol=1e-3)
    alone = fit_correctness(c, agrees, own=own, n_classes=10)
    assert curve.wrong_share == pytest.approx(alone.wrong_share, abs=1e-3)
    assert fit_correctness(c, agrees, own=surprising, n_classes=10).wrong_share > 0.05
    asked = np.array([0.9]), np.array([[0.3, 0.003]])
    assert curve.wrong_label(*asked, 10) == pytest.approx(
        alone.wrong_label(asked[0], asked[1][:, 0], 10), abs=1e-3
    )


def test_equal_ways_change_nothing():
    c, agrees, own, _ = noisy(0.1)
    once = fit_correctness(c, agrees, own=own, n_classes=10)
    twice = fit_correctness(c, agrees, own=np.stack([own, own], axis=1), n_classes=10)
    np.testing.assert_allclose(twice.probability(c), once.probability(c))
    np.testing.assert_allclose(twice.ways, [0.5, 0.5])
