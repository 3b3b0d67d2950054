"""A neighborhood of doubt stands out, a single doubtful image does not."""

import numpy as np
import pytest

from grande_gnn.classifier.halves import Halves
from grande_gnn.graph import ranked_lists
from grande_gnn.labelling.open_set import familiarity, is_unfamiliar, unfamiliar_scores


def made(n=120, known=30, doubtful=()):
    """Samples along a line in three classes; the model is sure of all but the doubtful ones."""
    codes = np.full(n, -1)
    rows = np.linspace(0, n - 1, known).astype(int)
    codes[rows] = np.arange(known) % 3
    p = np.full((n, 3), 0.05)
    p[:, 0] = 0.9
    p[list(doubtful)] = 1 / 3
    first = np.zeros(n, dtype=bool)
    first[rows[: known // 2]] = True
    halves = Halves(codes, (first, (codes >= 0) & ~first), (p, p))
    return p, halves, ranked_lists(np.arange(n, dtype=np.float32)[:, None], 11)


def test_the_score_is_the_mean_doubt_of_the_neighborhood():
    p, halves, lists = made(doubtful=[17])
    scores = unfamiliar_scores(p, halves, lists)
    disagree = 1 - (0.9**2 + 2 * 0.05**2)
    doubt = np.full(120, (0.1 + disagree) / 2)
    doubt[17] = (2 / 3 + 2 / 3) / 2
    doubt[halves.codes >= 0] = 0
    row = 19
    assert halves.codes[row] < 0
    assert scores[row] == pytest.approx(np.mean([doubt[other] for other in lists[row]]))


def test_labelled_samples_are_familiar():
    p, halves, lists = made(doubtful=range(120))
    scores = unfamiliar_scores(p, halves, lists)
    assert (scores[halves.codes >= 0] == 0).all()
    assert ((scores >= 0) & (scores <= 1)).all()


def test_a_group_of_doubt_scores_higher_than_a_single_doubt():
    group = unfamiliar_scores(*made(known=6, doubtful=range(50, 62)))
    single = unfamiliar_scores(*made(known=6, doubtful=[56]))
    assert group[56] > 2 * single[56]
    assert group.argmax() in range(50, 62)


def test_halves_that_do_not_know_a_class_are_not_asked_to_agree_on_it():
    """With one label per class, the halves know different classes and always disagree."""
    p, halves, lists = made(known=3)
    lone = np.where(np.arange(120) == 0, 0, np.where(np.arange(120) == 119, 1, -1))
    first = np.arange(120) == 0
    one, other = np.tile([1.0, 0, 0], (120, 1)), np.tile([0, 1.0, 0], (120, 1))
    halves = Halves(lone, (first, (lone >= 0) & ~first), (one, other))
    assert unfamiliar_scores(p, halves, lists)[60] == pytest.approx(0.1)


def test_only_the_highest_scores_are_flagged_and_none_where_all_are_low():
    labelled = np.zeros(200, dtype=bool)
    scores = np.linspace(0, 0.45, 200)
    assert not is_unfamiliar(scores, labelled).any()
    scores[:4] = 0.9
    assert np.flatnonzero(is_unfamiliar(scores, labelled)).tolist() == [0, 1, 2, 3]
    assert is_unfamiliar(np.linspace(0.6, 1, 200), labelled).sum() == 10  # a twentieth
    labelled[:2] = True
    assert np.flatnonzero(is_unfamiliar(scores, labelled)).tolist() == [2, 3]
    assert not is_unfamiliar(scores, np.ones(200, dtype=bool)).any()


def test_flagged_samples_lose_a_quarter_of_their_confidence():
    assert familiarity(np.array([True, False])).tolist() == [0.75, 1.0]
