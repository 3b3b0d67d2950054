"""The interval of an audit holds the truth at all times, and is not wider than it has to be."""

import numpy as np
import pytest
from scipy.stats import betabinom

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.audit import (
    audit_classes,
    audit_interval,
    audit_order,
    error_bounds,
    prior_of_errors,
)
from grande_gnn.labelling.confidence import wilson_interval

PRIORS = [prior_of_errors(), prior_of_errors(0.9), prior_of_errors(0.3)]


def steady(errors, n):
    """n outcomes with the errors spread evenly."""
    return np.diff(np.floor(np.arange(n + 1) * errors / n + 1e-9)) == 0


@pytest.mark.parametrize("prior", [((1.0, 1.0, 3.0),), ((0.8, 1.2, 10.8), (0.2, 1.0, 1.0))])
@pytest.mark.parametrize(("n", "k"), [(1, 0), (1, 1), (7, 2), (20, 0), (20, 20), (59, 30), (60, 31)])
def test_it_is_the_ratio_of_prior_and_posterior(prior, n, k):
    population, alpha = 60, 0.05
    m = np.arange(population + 1)
    before = sum(w * betabinom.pmf(m, population, a, b) for w, a, b in prior)
    # Each part of the mixture becomes likelier the better it predicted the k errors.
    weights = [w * betabinom.pmf(k, n, a, b) for w, a, b in prior]
    after = sum(
        w * betabinom.pmf(m - k, population - n, a + k, b + n - k)
        for w, (_, a, b) in zip(weights, prior, strict=True)
    ) / sum(weights)
    allowed = np.flatnonzero(before < after / alpha)
    low, high = error_bounds(k, n, population, prior, alpha)
    assert (int(low), int(high)) == (allowed[0], allowed[-1])
    assert len(allowed) == high - low + 1


def chance_of_ever_missing(truth, population, prior, alpha):
    """The exact probability that some interval of an audit leaves the truth out, by following all audits at once."""
    inside = np.zeros(truth + 1)
    inside[0] = 1.0
    for n in range(1, population + 1):
        k = np.arange(truth + 1)
        wrong = np.clip((truth - k) / (population - n + 1), 0, 1)
        step = inside * (1 - wrong)
        step[1:] += (inside * wrong)[:-1]
        low, high = error_bounds(k, np.full(truth + 1, n), population, prior, alpha)
        possible = (k <= n) & (truth - k <= population - n)
        inside = np.where(possible & (low <= truth) & (truth <= high), step, 0.0)
    return 1 - inside.sum()


@pytest.mark.parametrize("prior", PRIORS)
def test_the_truth_is_held_at_all_times_at_once(prior):
    chances = [chance_of_ever_missing(truth, 60, prior, 0.05) for truth in range(0, 61, 5)]
    assert max(chances) <= 0.05
    assert max(chances) > 0.02  # an interval twice as wide would be valid too, and of little use


@pytest.mark.parametrize(
    ("share", "expected"), [(0.03, None), (0.1, None), (0.25, None), (0.5, 0.6), (0.1, 0.85), (0.25, 0.8)]
)
@pytest.mark.parametrize("n", [30, 60, 100, 200])
def test_its_width_is_at_most_1_6_times_wilsons(share, expected, n):
    errors = round(share * n)
    estimate = audit_interval(steady(errors, n), 20_000, expected=expected)
    low, high = wilson_interval(n - errors, n)
    assert (high - low) < estimate.high - estimate.low < 1.6 * (high - low)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.value == pytest.approx(1 - errors / n)


def test_what_was_expected_narrows_the_interval_if_it_is_right():
    outcomes = steady(20, 200)
    width = {
        expected: np.ptp([getattr(audit_interval(outcomes, 5000, expected=expected), end) for end in ("low", "high")])
        for expected in (None, 0.9, 0.2)
    }  # fmt: skip
    assert width[0.9] < 0.97 * width[None] < 0.97 * width[0.2]


def test_it_only_narrows_while_images_are_many():
    outcomes = np.random.default_rng(0).random(300) < 0.85
    estimates = [audit_interval(outcomes[:n], 10**7) for n in (10, 40, 100, 200, 300)]
    assert np.all(np.diff([e.low for e in estimates]) > -1e-4)
    assert np.all(np.diff([e.high for e in estimates]) < 1e-4)


def test_what_was_ruled_out_once_stays_out():
    outcomes = np.r_[np.zeros(15, dtype=bool), np.ones(35, dtype=bool)]
    bad_first, bad_last = audit_interval(outcomes, 5000), audit_interval(outcomes[::-1], 5000)
    assert bad_first.low < bad_last.low  # so many right ones in a row at first rule out more errors


def test_when_the_intervals_contradict_each_other_the_last_one_counts():
    outcomes = np.r_[np.zeros(400, dtype=bool), np.ones(3000, dtype=bool)]
    estimate = audit_interval(outcomes, 100_000)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.value == pytest.approx(3000 / 3400)


def test_errors_in_the_sample_are_not_errors_of_the_others():
    one_left = audit_interval(steady(50, 99), 100)
    assert (one_left.low, one_left.high) == (0.0, 1.0)
    low, high = error_bounds(1, 60, 100, prior_of_errors(), 0.05)
    assert low == 1  # the one that was found
    assert high < 41  # not all that are left


def test_nothing_is_left_to_estimate_when_all_are_judged():
    estimate = audit_interval([True, True, False, True], 4)
    assert (estimate.value, estimate.low, estimate.high) == (0.75, 0.75, 0.75)
    assert estimate.more_for(0.001) == 0


def test_before_the_first_image_everything_is_possible():
    estimate = audit_interval([], 50)
    assert (estimate.low, estimate.high, estimate.n) == (0.0, 1.0, 0)
    assert 0 < estimate.more_for(0.1) <= 50


@pytest.mark.parametrize(("errors", "n", "half"), [(6, 60, 0.03), (2, 50, 0.02), (30, 60, 0.05)])
def test_so_many_more_are_enough_and_hardly_fewer(errors, n, half):
    more = audit_interval(steady(errors, n), 50_000).more_for(half)
    for share, is_enough in ((1.1, True), (0.7, False)):
        later = n + round(share * more)
        estimate = audit_interval(steady(round(later * errors / n), later), 50_000)
        assert (estimate.high - estimate.low <= 2 * half) == is_enough
    assert audit_interval(steady(errors, n), 50_000).more_for(0.5) == 0


def test_more_images_than_there_are_need_not_be_judged():
    assert 0 < audit_interval(steady(5, 20), 60).more_for(0.001) <= 40


def test_each_class_is_judged_by_its_own_images():
    labels = np.array((["cat"] * 3 + ["dog"]) * 20)
    right = np.where(labels == "cat", True, np.arange(80) % 8 == 3)
    found = audit_classes(right, labels.tolist(), {"cat": 700, "dog": 300, "elk": 10})
    assert set(found) == {"cat", "dog"}
    assert found["cat"] == audit_interval(np.ones(60), 700)
    assert found["dog"] == audit_interval(right[labels == "dog"], 300)
    assert found["dog"].value == 0.5


def test_a_class_with_few_judged_images_has_no_interval():
    assert audit_classes([True] * 9, ["cat"] * 9, {"cat": 20}) == {}
    assert set(audit_classes([True] * 10, ["cat"] * 10, {"cat": 20})) == {"cat"}


def test_the_order_is_random_complete_and_repeatable():
    order = audit_order(100, 3)
    assert sorted(order) == list(range(100))
    assert order.tolist() == audit_order(100, 3).tolist() != audit_order(100, 4).tolist()


def test_bad_input():
    with pytest.raises(InvalidInputError, match=r"True or False per judged image; got 1 dimension\(s\)"):
        audit_interval([0.5, 1], 10)
    with pytest.raises(InvalidInputError, match=r"judged once.*got 3"):
        audit_interval([True] * 3, 2)
    with pytest.raises(InvalidInputError, match="expected"):
        audit_interval([True], 2, expected=90)
    with pytest.raises(InvalidInputError, match="level"):
        audit_interval([True], 2, level=1)
    with pytest.raises(InvalidInputError, match="one per judged image: 1 outcomes; got 2"):
        audit_classes([True], ["a", "b"], {"a": 3})
