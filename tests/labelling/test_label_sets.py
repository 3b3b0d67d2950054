"""Sets against the definition written out, their promise on made data, and cells that hold any label."""

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.label_sets import (
    LabelSets,
    check_coverage,
    conformal_sets,
    join_labels,
    likeliest_sets,
    split_labels,
)


def by_definition(coverage, held_out, scores):
    """Every class of every sample, one at a time."""
    n = sum(len(part) for part in held_out)
    sets = np.zeros(scores[0].shape, dtype=bool)
    for i in range(len(sets)):
        for k in range(sets.shape[1]):
            as_bad = sum(
                int(s >= asked[i, k]) for part, asked in zip(held_out, scores, strict=True) for s in part
            )
            sets[i, k] = (1 + as_bad) / (1 + n) > (1 - coverage) + 1e-12
    return sets


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("n", [3, 9, 18, 19, 40])
def test_sets_are_those_of_the_definition(coverage, n):
    rng = np.random.default_rng(n)
    held_out = [rng.integers(0, 20, n) / 20, rng.integers(0, 20, n + 1) / 20]  # with ties
    scores = [rng.integers(0, 20, (30, 4)) / 20 for _ in range(2)]
    sets, method, used = conformal_sets(coverage, held_out, scores)
    is_split = n >= 2 / (1 - coverage) - 1 - 1e-6
    assert method == ("split" if is_split else "cross")
    assert used == (n if is_split else 2 * n + 1)
    parts = slice(1) if is_split else slice(2)
    np.testing.assert_array_equal(sets, by_definition(coverage, held_out[parts], scores[parts]))


def test_nineteen_labels_in_a_half_are_enough_at_ninety_percent():
    scores = [np.zeros((1, 2))] * 2
    assert conformal_sets(0.9, [np.zeros(19)] * 2, scores)[1] == "split"
    assert conformal_sets(0.9, [np.zeros(18)] * 2, scores)[1] == "cross"


@pytest.mark.parametrize("n", [19, 60])
def test_split_sets_hold_the_truth_as_often_as_promised(n):
    """On exchangeable scores the coverage is at least 90 %, and at most 1/(n + 1) more."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(600):
        truth = rng.random((n + 20, 1))
        sets, _, _ = conformal_sets(0.9, [truth[:n, 0], truth[:1, 0]], [truth[n:], truth[n:]])
        covered.append(sets.mean())
    assert 0.89 < np.mean(covered) < 0.91 + 1 / (n + 1)


def test_likeliest_classes_reach_the_coverage():
    p = np.array([[0.05, 0.7, 0.25], [0.95, 0.03, 0.02], [0.4, 0.3, 0.3]])
    assert likeliest_sets(0.9, p).tolist() == [[False, True, True], [True, False, False], [True, True, True]]


@pytest.mark.parametrize(
    "labels", [["cat"], ["cat", "a|b"], ["\\", "|", "x\\|y"], ["\\|", "a\\"], ["a,b", "ü"]]
)
def test_any_labels_survive_a_cell(labels):
    assert split_labels(join_labels(labels)) == labels


def test_an_empty_cell_has_no_label():
    assert split_labels("") == []
    assert split_labels(join_labels([])) == []


def test_the_promise_is_said():
    assert "at least 90 %" in LabelSets(0.9, "split", 40).guarantee
    assert "at least 80 % probability, usually 90 %" in LabelSets(0.9, "cross", 10).guarantee
    assert "nothing is guaranteed" in LabelSets(0.9, "calibrated", 0).guarantee


@pytest.mark.parametrize("coverage", [0.0, 0.49, 1.0, 90.0, float("nan")])
def test_a_coverage_is_a_probability(coverage):
    with pytest.raises(InvalidInputError, match=r"from 0\.5 to below 1, for example 0\.9; got"):
        check_coverage(coverage)
