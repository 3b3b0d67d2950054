"""From rows to numbers, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.scores import Scores, collect, honest_sigmas, verdict
from grande_gnn.experiments.statistics import Interval
from grande_gnn.experiments.trials import Trial

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


def test_honest_sigma_adds_up_the_inner_parts_of_its_own_fold():
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
    assert honest_sigmas(finished(cells), cells) == {0: 0.5, 1: 0.1}


def test_a_tie_goes_to_the_sigma_nearest_the_default():
    cells = {replace(TRIAL, sigma=sigma, inner=0, inner_folds=1): 50.0 for sigma in (1.0, 0.3, 0.9)}
    assert honest_sigmas(finished(cells), cells) == {0: 0.3}


def test_honest_sigma_needs_all_its_trials():
    cells = {replace(TRIAL, inner=i, inner_folds=2): 50.0 for i in (0, 1)}
    assert honest_sigmas({}, cells) is None


def test_verdicts():
    assert verdict(Interval(1.0, 0.1, 2.0)) == "gains"
    assert verdict(Interval(-1.0, -2.0, -0.1)) == "loses"
    assert verdict(Interval(1.0, -0.1, 2.0)) == "shows no clear change"
