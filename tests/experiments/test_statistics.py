"""From rows to numbers: by hand, against scipy and plain Python."""

import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from grande_gnn.experiments import interval_over_folds, paired_interval
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.statistics import (
    Interval,
    Scores,
    collect,
    nested_sigmas,
    std_between_repetitions,
    verdict,
    without_nan,
)
from grande_gnn.experiments.trials import Trial

TABLE = 80 + np.random.default_rng(0).normal(size=(5, 10))


def test_the_papers_deviation_is_between_repetition_means():
    assert std_between_repetitions(TABLE) == pytest.approx(statistics.stdev(TABLE.mean(axis=1)))
    assert std_between_repetitions(np.array([[1.0, 9.0], [9.0, 1.0]])) == 0  # folds vary, repetitions do not
    assert math.isnan(std_between_repetitions(TABLE[:1]))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_the_interval_is_students_over_fold_means(level):
    folds = TABLE.mean(axis=0)
    low, high = stats.t.interval(level, 9, loc=folds.mean(), scale=stats.sem(folds))
    assert interval_over_folds(TABLE, level) == pytest.approx((folds.mean(), low, high))


def test_one_fold_or_one_row():
    assert interval_over_folds(TABLE[0]) == interval_over_folds(TABLE[:1])
    mean, low, high = interval_over_folds([[5.0], [7.0]])
    assert mean == 6
    assert math.isnan(low)
    assert math.isnan(high)


def test_pairing_removes_what_both_share():
    theirs = TABLE + 30 * np.arange(10)  # hard and easy folds
    ours = theirs + 1.5 + 0.01 * TABLE
    mean, low, high = paired_interval(ours, theirs)
    assert mean == pytest.approx((ours - theirs).mean())
    assert 0 < low < mean < high
    test = stats.ttest_rel(ours.mean(axis=0), theirs.mean(axis=0)).confidence_interval(0.95)
    assert (low, high) == pytest.approx((test.low, test.high))
    assert paired_interval(theirs, ours) == pytest.approx((-mean, -high, -low))


def test_paired_tables_must_have_one_shape():
    with pytest.raises(ValueError, match=r"shape|broadcast"):
        paired_interval(np.ones((5, 10)), np.ones((5, 9)))


TRIAL = Trial(dataset="own", features="x", system="grande", sigma=0.2, folds=2, fold=0, repetition=0, seed=0)


def finished(cells):
    return {trial: Row(trial, "", "", 0.0, n_test=10, accuracy=accuracy) for trial, accuracy in cells.items()}


def test_collect_puts_repetitions_down_and_folds_across():
    cells = {replace(TRIAL, repetition=r, fold=f): 10.0 * r + f for f in (1, 0) for r in (2, 0, 1)}
    scores = collect(finished(cells), cells)
    assert scores.values.tolist() == [[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]
    assert scores.mean == pytest.approx(10.5)
    assert scores.std == pytest.approx(10.0)
    assert scores.std_folds == pytest.approx(np.sqrt(0.5))


def test_a_missing_trial_gives_no_score():
    cells = {replace(TRIAL, fold=f): 1.0 for f in (0, 1)}
    assert collect(finished({TRIAL: 1.0}), cells) is None


def test_one_repetition_has_no_deviation():
    assert Scores(np.array([[1.0, 2.0]])).std is None


def test_the_nested_sigma_adds_up_the_inner_parts_of_its_own_fold():
    accuracy = {
        (0, 0.1, 0): 50.0, (0, 0.1, 1): 60.0,
        (0, 0.5, 0): 80.0, (0, 0.5, 1): 40.0,
        (1, 0.1, 0): 90.0, (1, 0.1, 1): 90.0,
        (1, 0.5, 0): 90.0, (1, 0.5, 1): 80.0,
    }  # fmt: skip
    cells = {
        replace(TRIAL, fold=fold, sigma=sigma, inner=inner, inner_folds=2): value
        for (fold, sigma, inner), value in accuracy.items()
    }
    assert nested_sigmas(finished(cells), cells) == {0: 0.5, 1: 0.1}


def test_a_tie_goes_to_the_sigma_nearest_the_default():
    cells = {replace(TRIAL, sigma=sigma, inner=0, inner_folds=1): 50.0 for sigma in (1.0, 0.05, 0.3, 0.9)}
    assert nested_sigmas(finished(cells), cells) == {0: 0.3}


def test_the_nested_sigma_needs_all_its_trials():
    cells = {replace(TRIAL, inner=i, inner_folds=2): 50.0 for i in (0, 1)}
    assert nested_sigmas({}, cells) is None


def test_verdicts():
    assert verdict(Interval(1.0, 0.1, 2.0)) == "gains"
    assert verdict(Interval(-1.0, -2.0, -0.1)) == "loses"
    assert verdict(Interval(1.0, -0.1, 2.0)) == "shows no clear change"


def test_seeds_are_repetitions_too():
    cells = {replace(TRIAL, seed=s, fold=f): 10.0 * s + f for f in (1, 0) for s in (7, 6)}
    assert collect(finished(cells), cells).values.tolist() == [[60.0, 61.0], [70.0, 71.0]]


def test_undefined_numbers_become_none():
    assert without_nan({"a": float("nan"), "b": 1.5, "c": "nan"}) == {"a": None, "b": 1.5, "c": "nan"}
