"""Means, the paper's ± and intervals, against scipy and plain Python."""

import math
import statistics

import numpy as np
import pytest
from scipy import stats

from grande_gnn.experiments import interval_over_folds, paired_interval
from grande_gnn.experiments.statistics import std_between_repetitions

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
