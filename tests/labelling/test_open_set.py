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


def test_the_score_is_made_of_the_doubt_and_the_labels_of_the_neighborhood():
    p, halves, lists = made(doubtful=[17])
    scores = unfamiliar_scores(p, halves, lists)
    labelled = halves.codes >= 0
    disagree = 1 - (0.9**2 + 2 * 0.05**2)
    doubt = np.full(120, (0.1 + disagree) / 2)
    doubt[17] = 2 / 3
    doubt[labelled] = 0
    row = 19
    assert not labelled[row]
    near = lists[row]
    mean_doubt = np.mean([doubt[other] for other in near])
    found = np.mean([sum(labelled[other] for other in lists[n][1:]) for n in near])
    by_chance = 10 * 30 / 120
    lack = 1 - min(found / by_chance, 1)
    weight = 1 - np.exp(-by_chance / 2)
    assert scores[row] == pytest.approx(1 - (1 - mean_doubt**2) * (1 - weight * lack**2))


def test_sure_predictions_far_from_every_label_are_unfamiliar_too():
    """The labels lie in one half of the line: in the other half the model is sure of a class like another."""
    p, _, lists = made(n=200)
    codes = np.where((np.arange(200) < 100) & (np.arange(200) % 3 == 0), 0, -1)
    first = (codes >= 0) & (np.arange(200) < 50)
    scores = unfamiliar_scores(p, Halves(codes, (first, (codes >= 0) & ~first), (p, p)), lists)
    assert scores[120:].min() > 0.5 > scores[:90].max()


def test_labelled_samples_are_familiar():
    p, halves, lists = made(doubtful=range(120))
    scores = unfamiliar_scores(p, halves, lists)
    assert (scores[halves.codes >= 0] == 0).all()
    assert ((scores >= 0) & (scores <= 1)).all()


def test_a_group_of_doubt_scores_higher_than_a_single_doubt():
    group = unfamiliar_scores(*made(doubtful=range(50, 62)))
    single = unfamiliar_scores(*made(doubtful=[58]))
    assert group[58] > 2 * single[58]
    assert group.argmax() in range(50, 62)


def test_halves_that_do_not_know_a_class_are_not_asked_to_agree_on_it():
    """With one label per class, the halves know different classes and always disagree."""
    p, halves, lists = made(known=3)
    lone = np.where(np.arange(120) == 0, 0, np.where(np.arange(120) == 119, 1, -1))
    first = np.arange(120) == 0
    one, other = np.tile([1.0, 0, 0], (120, 1)), np.tile([0, 1.0, 0], (120, 1))
    halves = Halves(lone, (first, (lone >= 0) & ~first), (one, other))
    by_chance = 10 * 2 / 120
    assert unfamiliar_scores(p, halves, lists)[60] == pytest.approx(1 - (1 - 0.1**2) * np.exp(-by_chance / 2))


def test_only_the_highest_scores_are_flagged_and_none_where_all_are_low():
    labelled = np.zeros(200, dtype=bool)
    scores = np.linspace(0, 0.45, 200)
    assert not is_unfamiliar(scores, labelled).any()
    scores[:4] = 0.9
    assert np.flatnonzero(is_unfamiliar(scores, labelled)).tolist() == [0, 1, 2, 3]
    assert is_unfamiliar(np.linspace(0.6, 1, 200), labelled).sum() == 20  # a tenth
    labelled[:2] = True
    assert np.flatnonzero(is_unfamiliar(scores, labelled)).tolist() == [2, 3]
    assert not is_unfamiliar(scores, np.ones(200, dtype=bool)).any()


def test_flagged_samples_lose_some_of_their_confidence():
    assert familiarity(np.array([True, False])).tolist() == [0.7, 1.0]
