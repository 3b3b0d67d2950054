"""Two halves of the labels: disjoint, even in every class, and each blind to what the other was given."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from grande_gnn import GrandeClassifier
from grande_gnn.classifier.halves import (
    HalfFeatures,
    HalfProblems,
    Halves,
    split_halves,
    train_halves,
    without_unknown,
)
from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.degree import Grande
from grande_gnn.engine import Settings
from grande_gnn.graph import reciprocal_knn_graph


@pytest.fixture
def problem(three_blobs):
    X, _, _ = three_blobs
    return LearningProblem(
        X, reciprocal_knn_graph(X, 10), 3, Grande(0.2), Settings(device="cpu", epochs=30), 8
    )


@pytest.mark.parametrize("counts", [(2, 2, 2), (1, 1, 1, 1), (1, 5, 8), (40, 1, 1, 3), (1, 1)])
def test_halves_are_disjoint_complete_and_even_in_every_class(counts):
    codes = np.concatenate([np.repeat(np.arange(len(counts)), counts), np.full(7, -1)])
    codes = np.random.default_rng(1).permutation(codes)
    one, other = split_halves(codes)
    assert not (one & other).any()
    np.testing.assert_array_equal(one | other, codes >= 0)
    for c, count in enumerate(counts):
        assert sorted([np.sum(codes[one] == c), np.sum(codes[other] == c)]) == [count // 2, -(-count // 2)]
    assert abs(int(one.sum()) - int(other.sum())) <= 1


def test_single_labels_are_shared_out_between_the_halves():
    one, other = split_halves(np.arange(10))
    assert one.sum() == other.sum() == 5


def test_copies_stay_together_even_with_different_labels():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 4, 60)
    groups = np.arange(60) // 3 * 3
    one, other = split_halves(codes, groups)
    for group in np.unique(groups):
        assert not (one[groups == group].any() and other[groups == group].any())
    assert min(one.sum(), other.sum()) > 15


def test_many_copies_of_one_class_leave_the_others_even():
    codes, groups = np.array([0] * 5 + [1] * 4), np.array([0] * 5 + [5, 6, 7, 8])
    one, other = split_halves(codes, groups)
    assert [np.sum(codes[half] == 1) for half in (one, other)] == [2, 2]


def test_the_split_depends_on_nothing_but_the_labels():
    codes = np.array([0, 1, 2, -1] * 5)
    for a, b in zip(split_halves(codes), split_halves(codes.copy()), strict=True):
        np.testing.assert_array_equal(a, b)


def test_labels_side_by_side_stay_together():
    codes = np.repeat([0, -1, 1, -1, 0, 1, 0, 1], [3, 1, 4, 2, 3, 4, 2, 8])
    one, other = split_halves(codes)
    ends = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)]])
    cut = [a for a, b in pairwise(ends) if codes[a] >= 0 and one[a:b].any() and other[a:b].any()]
    assert len(cut) <= 1  # of class 0 one series may have to be cut, of class 1 none
    assert [int(np.sum(codes[one] == c)) for c in (0, 1)] == [4, 8]


def test_a_class_is_even_by_whole_series_however_uneven_the_others_are():
    """Nine copies of class 0 are in one half; the series of class 1 are divided as if they were not there."""
    codes = np.full(30, -1)
    codes[:9] = 0
    series = [[10, 11], [13, 14], [16], [18]]
    codes[np.concatenate(series)] = 1
    groups = np.where(codes == 0, 0, np.arange(30))
    one, other = split_halves(codes, groups)
    assert {int(one[codes == 0].sum()), int(other[codes == 0].sum())} == {0, 9}
    assert one[codes == 1].sum() == other[codes == 1].sum() == 3
    assert all(one[rows].all() or other[rows].all() for rows in series)


def test_one_long_series_is_cut_in_two():
    one, _ = split_halves(np.zeros(40, dtype=np.int64))
    assert one.sum() == 20
    assert np.count_nonzero(np.diff(one.astype(int))) == 1


def test_labels_apart_from_each_other_are_mixed():
    codes = np.full(80, -1)
    codes[::2] = 0
    one, _ = split_halves(codes)
    changes = np.count_nonzero(np.diff(one[::2].astype(int)))
    assert 8 < changes < 36  # neither two blocks nor strictly alternating


def test_one_more_label_hardly_changes_the_halves_of_the_others():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 400)
    moved = []
    for _ in range(20):
        codes = np.full(400, -1)
        codes[rng.choice(400, 60, replace=False)] = 0
        codes = np.where(codes == 0, truth, -1)
        more = codes.copy()
        new = rng.choice(np.flatnonzero(codes < 0))
        more[new] = truth[new]
        moved.append(np.mean((split_halves(codes)[0] != split_halves(more)[0])[codes >= 0]))
    assert np.mean(moved) < 0.1


def test_one_more_label_moves_nothing_in_classes_with_an_even_number_before_and_after_it():
    codes = np.full(100, -1)
    codes[::10] = np.repeat([0, 1, 2, 3, 4], 2)
    more = codes.copy()
    more[45] = 2
    elsewhere = (codes >= 0) & (codes != 2)
    np.testing.assert_array_equal(split_halves(codes)[0][elsewhere], split_halves(more)[0][elsewhere])


def test_samples_without_labels_that_are_appended_change_nothing():
    codes = np.arange(40) % 4
    codes[1::2] = -1
    longer = np.concatenate([codes, np.full(25, -1)])
    np.testing.assert_array_equal(split_halves(codes)[0], split_halves(longer)[0][:40])


def test_each_half_is_blind_to_the_other_halfs_labels(three_blobs, problem):
    """Lies in one half change what that half says, and never what the other says about its rows."""
    _, _, codes = three_blobs
    honest = train_halves(problem, codes)
    lies = codes.copy()
    first = honest.known[0]
    lies[first] = (lies[first] + 1) % 3
    sets = [np.where(half, lies, -1) for half in honest.known]
    lied = [without_unknown(outcome.logits, range(3)) for outcome in problem.train(sets, keep_models=True)]
    np.testing.assert_allclose(honest.probabilities[1], lied[1], atol=1e-5)
    assert not np.allclose(honest.probabilities[0], lied[0], atol=1e-2)


def test_held_out_answers_come_from_the_half_that_did_not_know():
    known = (np.array([True, False, False, True]), np.array([False, True, False, False]))
    p = (np.full((4, 2), 0.5), np.array([[0.25, 0.75], [0.1, 0.9], [1.0, 0.0], [1.0, 0.0]]))
    halves = Halves(np.array([0, 1, -1, 1]), known, p)
    held_out = halves.held_out()
    assert held_out.rows.tolist() == [0, 1, 3]
    assert held_out.labels.tolist() == [0, 1, 1]
    np.testing.assert_allclose(np.exp(held_out.logits), [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]], atol=1e-9)
    assert np.isfinite(held_out.logits).all()
    assert halves.answerable().tolist() == [False, True, True]  # nobody else knows class 0


def test_a_class_with_one_label_is_unknown_to_one_half(three_blobs, problem):
    _, _, codes = three_blobs
    codes[codes == 2] = -1
    codes[2] = 2
    halves = train_halves(problem, codes)
    blind = [p[:, 2].max() == 0 for p in halves.probabilities]
    assert sorted(blind) == [False, True]
    for p in halves.probabilities:
        np.testing.assert_allclose(p.sum(axis=1), 1)
    answerable = dict(zip(halves.held_out().rows.tolist(), halves.answerable(), strict=True))
    assert not answerable.pop(2)
    assert all(answerable.values())


def test_there_are_no_halves_of_one_class_or_of_one_group(three_blobs, problem):
    _, _, codes = three_blobs
    assert train_halves(problem, np.where(codes > 0, -1, codes)) is None
    two = np.where(np.arange(90) < 2, codes, -1)
    assert train_halves(problem, two, np.zeros(90, dtype=np.int64)) is None
    assert train_halves(problem, two) is not None


def test_a_classifier_with_fixed_settings_trains_halves_on_request(three_blobs):
    X, y, codes = three_blobs
    clf = GrandeClassifier(n_neighbors=10, hidden=8, epochs=60, lr=0.02, device="cpu", random_state=0)
    clf.fit(X, codes)
    assert clf.halves_ is None
    halves = clf.train_halves(codes)
    unknown = codes < 0
    for p in halves.probabilities:
        assert np.mean(p.argmax(axis=1)[unknown] == y[unknown]) > 0.8
    assert halves.held_out().hits.mean() > 0.8


def test_features_of_halves_judge_the_labels_that_their_network_did_not_see(blobs, few):
    """Features that give the labels away are not believed where features of halves do not."""
    X, y = blobs
    rng = np.random.default_rng(0)
    noise = rng.normal(size=X.shape).astype(np.float32)
    leaking = noise + np.where((few >= 0)[:, None], 9 * np.eye(3, 6)[y], 0).astype(np.float32)
    known = split_halves(few)
    judging = HalfFeatures(known, (noise, noise + 1))
    open_settings = {"graph": "auto", "n_neighbors": 8, "normalize": "center-l2", "sigma": 0.2}
    for settings in (open_settings, open_settings | {"graph": "knn"}):
        clf = GrandeClassifier("sgc", random_state=0, device="cpu", lr=1e-2, **settings)
        naive, judged = clone(clf).fit(leaking, few), clone(clf).fit(leaking, few, halves=judging)
        hits = []
        for fitted in (naive, judged):
            halves = fitted.halves_ if fitted.halves_ is not None else fitted.train_halves(few)
            hits.append(halves.held_out().hits.mean())
        assert hits[0] > 0.9
        assert hits[1] < 0.7
        np.testing.assert_array_equal(fitted.half_problems_.known[0], known[0])


def test_labels_that_no_network_saw_are_divided_anew():
    problem = None
    known = (np.array([True, False, False, False]), np.array([False, True, False, False]))
    one, other = HalfProblems(known, [(problem, problem)]).for_labels(np.array([0, -1, 1, 1]))
    assert one[0]
    assert not other[1]
    assert one[2:].sum() == other[2:].sum() == 1


def test_equal_features_of_halves_change_nothing(blobs, few):
    X, _ = blobs
    clf = GrandeClassifier("sgc", random_state=0, device="cpu", epochs=20, graph="auto", n_neighbors=8)
    plain = clone(clf).fit(X, few)
    judged = clone(clf).fit(X, few, halves=HalfFeatures(plain.halves_.known, (X, X)))
    for one, other in zip(plain.halves_.probabilities, judged.halves_.probabilities, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_allclose(plain.label_distributions_, judged.label_distributions_, atol=1e-5)
