"""A committee answers with the weighted mean of its members, for fitted and for new samples."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from grande_gnn import GrandeClassifier
from grande_gnn.classifier import committee as module
from grande_gnn.classifier import tuning
from grande_gnn.classifier.committee import Committee, choose, for_many_classes, train_alone, train_committee
from grande_gnn.classifier.graph_free import GraphFree
from grande_gnn.classifier.halves import HalfProblems, split_halves
from grande_gnn.classifier.label_weights import balanced_weights, trust_in_labels
from grande_gnn.classifier.new_samples import attach
from grande_gnn.classifier.preparation import Choice, Preparation
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.classifier.votes import short_settings
from grande_gnn.degree import Centrality
from grande_gnn.engine import Settings
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph, neighbors
from grande_gnn.internal.progress import reporting_to

QUICK = Settings(device="cpu", epochs=30, lr=0.01)
AUTO = dict.fromkeys(("sigma", "graph", "n_neighbors", "normalize"), "auto")
CHOICES = [Choice("reciprocal", 12, "l2", 0.2), Choice("reciprocal", 5, "l2", 0.2)]


@pytest.fixture
def preparation(three_blobs):
    return Preparation(three_blobs[0], 3, QUICK, 8)


@pytest.fixture
def candidates(preparation):
    return [(choice, preparation.problem(choice)) for choice in CHOICES]


def automatic(**options):
    return GrandeClassifier(**(AUTO | {"hidden": 8, "epochs": 30, "lr": 0.02, "device": "cpu"} | options))


def test_one_with_fixed_settings_is_a_plain_training(three_blobs, candidates):
    _, _, codes = three_blobs
    choice, problem = candidates[0]
    alone, p = train_alone(choice, problem, codes)
    (outcome,) = problem.train([codes], keep_models=True)
    np.testing.assert_array_equal(p, softmax(outcome.logits.astype(np.float64), axis=1))
    assert str(alone) == str(choice)
    assert [(m.weight, m.temperature) for m in alone.members] == [(1.0, 1.0)]


def test_probabilities_are_the_weighted_mean_of_balanced_trainings(three_blobs, candidates):
    _, _, codes = three_blobs
    codes = np.where((codes == 1) & (np.arange(90) > 8), -1, codes)  # uneven
    committee, p, halves = train_committee(candidates, codes)
    weights = balanced_weights(codes, trust_in_labels(halves, 90))
    expected = np.zeros((90, 3))
    for member, (_, problem) in zip(committee.members, candidates, strict=True):
        (outcome,) = problem.train([LabelSet(codes, weights=weights)], keep_models=True)
        expected += member.weight * softmax(outcome.logits / member.temperature, axis=1)
    np.testing.assert_allclose(p, expected, atol=1e-5)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert sum(member.weight for member in committee.members) == pytest.approx(1)


def test_the_progress_of_a_committee_ends_with_its_last_epoch(three_blobs, candidates):
    calls = []
    with reporting_to(lambda *call: calls.append(call)):
        committee, _, _ = train_committee(candidates, three_blobs[2])
        committee.votes(three_blobs[2])
        train_alone(*candidates[0], three_blobs[2])
    total = 2 * (30 + 2 * 10)  # two members: all labels, and two halves with a third of the epochs
    train = [done for stage, done, whole in calls if stage == "train" and whole == total]
    assert train[0] == 0
    assert train.index(total) == len(train) - 1
    assert [call for call in calls if call[0] == "check"][-1] == ("check", 40, 40)
    assert calls[-1] == ("train", 30, 30)


def test_a_contradicted_label_counts_less_in_the_final_trainings(three_blobs, candidates, monkeypatch):
    _, y, codes = three_blobs
    codes[0] = (y[0] + 1) % 3  # one wrong label among thirty
    used = []
    train = module.Member.train
    monkeypatch.setattr(module.Member, "train", lambda *a, **b: used.append(a[2].weights) or train(*a, **b))
    settings = Settings(device="cpu", epochs=100, lr=0.02)
    slower = [(c, LearningProblem(p.inputs, p.graph, 3, p.degree, settings, 8)) for c, p in candidates]
    _, p, _ = train_committee(slower, codes)
    assert used[0][0] < 0.5 * np.median(used[0][:30])
    np.testing.assert_array_equal(used[0], used[1])
    assert p[0].argmax() == y[0]


def test_new_samples_get_the_weighted_mean_too(three_blobs, preparation, candidates):
    _, _, codes = three_blobs
    committee, _, _ = train_committee(candidates, codes)
    found = preparation.neighbors(CHOICES[0])
    new = found.features[:6] * np.float32(1.01)
    p, reached = committee.of_new(new, found)
    expected = sum(
        member.weight * member.of_new(new, attach(new, found, int(member.choice.n_neighbors)))
        for member in committee.members
    )
    np.testing.assert_allclose(p, expected, rtol=1e-12)
    assert reached.all()
    linear = GraphFree(np.ones((6, 3)), np.arange(3.0), 0.4)
    more, _ = Committee(committee.members, linear).of_new(new, found)
    np.testing.assert_allclose(more, expected + 0.4 * linear.probabilities(new), rtol=1e-12)


def test_a_sample_is_reached_if_any_member_reaches_it(three_blobs, candidates):
    _, _, codes = three_blobs
    (choice, problem), _ = candidates
    pieces = Graph.from_edges([0], [1], 90)
    parts = [problem, LearningProblem(problem.inputs, pieces, 3, problem.degree, QUICK, 8)]
    codes = np.where(np.arange(90) < 2, codes, -1)
    committee, _, _ = train_committee([(choice, part) for part in parts], codes)
    np.testing.assert_array_equal(
        committee.reached, problem.graph.reached_from(codes >= 0) | pieces.reached_from(codes >= 0)
    )


def test_choosing_gives_the_first_member_and_its_held_out_answers(three_blobs, preparation):
    _, _, codes = three_blobs
    selection = choose(preparation, codes, Choice("auto", 9, "l2", 0.3))
    assert selection.choice == Choice("dgcg", 9, "l2", 0.3)
    assert selection.held_out.rows.tolist() == list(range(30))
    assert "a committee of 3 graphs (dgcg 9, knn 9, reciprocal 9)" in selection.note


@pytest.mark.parametrize(
    ("n_classes", "lr", "expected"), [(149, 1e-3, 1e-3), (150, 1e-3, 1e-2), (200, 0.05, 0.05)]
)
def test_many_classes_are_trained_faster(candidates, n_classes, lr, expected):
    _, problem = candidates[0]
    given = LearningProblem(
        problem.inputs, problem.graph, n_classes, problem.degree, Settings(device="cpu", lr=lr), 8
    )
    assert for_many_classes(given).settings.lr == expected
    assert for_many_classes(given).settings.epochs == given.settings.epochs


# -- in the classifier --------------------------------------------------------------------------------


def test_automatic_settings_are_a_committee_with_halves(three_blobs):
    X, y, codes = three_blobs
    clf = automatic(epochs=60, random_state=0).fit(X, codes)
    assert len(clf.committee_.members) == 5
    assert clf.choice_ == clf.committee_.members[0].choice
    assert not clf.choice_.is_open
    assert clf.selection_.held_out.rows.tolist() == list(range(30))
    assert clf.halves_.held_out().hits.mean() > 0.8
    assert np.mean(clf.transduction_ == y) > 0.8
    assert (clf.predict(X) == clf.transduction_).all()
    np.testing.assert_array_equal(clf.reached_, clf.committee_.reached)
    np.testing.assert_array_equal(clf.degree_, clf.committee_.members[0].degree)
    assert "a committee of 5 graphs (dgcg 30, knn 15" in str(clf.committee_)
    again = clf.train_halves(codes)
    np.testing.assert_allclose(again.probabilities[0], clf.halves_.probabilities[0], atol=1e-5)


def test_the_faster_training_of_many_classes_is_not_kept_for_fewer(three_blobs, monkeypatch):
    """And fewer classes become faster when they become many: refit trains as fit does."""
    X, _, codes = three_blobs
    monkeypatch.setattr(module, "MANY_CLASSES", 3)
    fewer = np.where(codes == 2, -1, codes)
    slow = {"model": "sgc", "lr": 1e-3, "random_state": 0}
    for before, after in ((codes, fewer), (fewer, codes)):
        expected = automatic(**slow).fit(X, after)
        fitted = automatic(**slow).fit(X, before)
        np.testing.assert_array_equal(fitted.refit(after).label_distributions_, expected.label_distributions_)
        assert fitted.problem_.settings.lr == 1e-3


def test_a_loaded_committee_checks_many_classes_with_the_faster_training(three_blobs, monkeypatch, tmp_path):
    X, _, codes = three_blobs
    monkeypatch.setattr(module, "MANY_CLASSES", 3)
    clf = automatic(model="sgc", lr=1e-3, random_state=0).fit(X, codes)
    clf.save(tmp_path / "model")
    loaded = GrandeClassifier.load(tmp_path / "model")
    for one in (clf, loaded):
        again = one.train_halves(codes).probabilities
        np.testing.assert_allclose(again, clf.halves_.probabilities, atol=1e-6)


@pytest.mark.parametrize("n_classes", [3, 150])
def test_votes_on_the_features_of_each_half(three_blobs, candidates, n_classes, monkeypatch):
    """Both when the committee is trained and when it is asked again, with the learning rate of many classes."""
    codes = three_blobs[2]
    seen = []
    train = LearningProblem.train

    def noticed(problem, label_sets, **options):
        seen.append((problem.inputs, problem.settings.lr))
        return train(problem, label_sets, **options)

    def with_lr(problem, inputs):
        settings = replace(problem.settings, lr=1e-3, epochs=1)
        return replace(problem, inputs=inputs, settings=settings, n_classes=n_classes)

    monkeypatch.setattr(LearningProblem, "train", noticed)
    given = [(choice, with_lr(problem, problem.inputs)) for choice, problem in candidates]
    own = [problem.inputs + np.float32(shift) for _, problem in candidates for shift in (1, 2)]
    pairs = [
        (with_lr(problem, own[2 * i]), with_lr(problem, own[2 * i + 1]))
        for i, (_, problem) in enumerate(candidates)
    ]
    halves = HalfProblems(split_halves(codes), pairs)
    committee, _, _ = train_committee(given, codes, half_problems=halves)
    first = seen[:4]
    seen.clear()
    committee.votes(codes, half_problems=halves)
    for found in (first, seen):
        assert all(inputs is wanted for (inputs, _), wanted in zip(found, own, strict=True))
        expected = short_settings(replace(QUICK, lr=1e-3 if n_classes == 3 else 1e-2)).lr
        assert [lr for _, lr in found] == [expected] * 4


@pytest.mark.parametrize("counts", [(1, 1, 1), (1, 4, 4), (10, 1, 3)])
def test_classes_with_one_label_are_no_cliff(three_blobs, counts):
    X, y, codes = three_blobs
    few = np.full(90, -1)
    for c, count in enumerate(counts):
        few[np.flatnonzero(codes == c)[:count]] = c
    clf = automatic(epochs=60, random_state=0).fit(X, few)
    assert len(clf.committee_.members) == 5
    assert clf.halves_ is not None
    assert clf.selection_.held_out is None  # nobody else could know these labels
    assert np.mean(clf.transduction_ == y) > 0.7


def test_neighbors_are_searched_once_for_all_members(three_blobs, monkeypatch):
    searched = []
    exact = neighbors.BACKENDS["exact"]
    monkeypatch.setitem(
        neighbors.BACKENDS, "exact", lambda X, k, device: searched.append(k) or exact(X, k, device)
    )
    X, _, codes = three_blobs
    clf = automatic(model="sgc", epochs=5, random_state=0).fit(X, codes)
    clf.neighbors_.distances(6)
    clf.predict(X + 0.1)
    assert len(searched) == 1


@pytest.mark.parametrize("degree", ["centrality", Centrality()])
def test_every_member_has_the_degree_that_was_asked_for(three_blobs, degree):
    X, _, codes = three_blobs
    clf = automatic(model="sgc", degree=degree, epochs=5, random_state=0).fit(X, codes)
    assert {member.problem.degree for member in clf.committee_.members} == {Centrality()}


def test_auto_with_a_function_is_refused(three_blobs):
    X, _, codes = three_blobs
    with pytest.raises(InvalidInputError, match="need a degree by name"):
        GrandeClassifier(degree=lambda h, g: h.sum(1), sigma="auto").fit(X, codes)


@pytest.mark.slow
def test_two_labels_in_each_of_200_classes_are_enough_with_the_higher_learning_rate():
    rng = np.random.default_rng(0)
    y = np.arange(1600) % 200
    X = (rng.normal(size=(200, 64))[y] + 0.9 * rng.normal(size=(1600, 64))).astype(np.float32)
    preparation = Preparation(X, 200, Settings(device="cpu"), 128)
    slow = preparation.problem(Choice("reciprocal", 10, "center-l2", 0.2))
    codes = np.where(np.arange(1600) < 400, y, -1)
    accuracies = [
        np.mean((problem.train([codes])[0].predictions == y)[400:])
        for problem in (slow, for_many_classes(slow))
    ]
    assert accuracies[1] > accuracies[0] + 0.2, accuracies


def epochs_of(monkeypatch, fit):
    """How many epochs of how many trainings ``fit`` takes, all together."""
    counted = []
    train = LearningProblem.train

    def count(problem, label_sets, **options):
        sets = list(label_sets)
        counted.append(problem.settings.epochs * len(sets))
        return train(problem, sets, **options)

    with monkeypatch.context() as patch:
        patch.setattr(LearningProblem, "train", count)
        fit()
    return sum(counted)


@pytest.mark.parametrize(("n_members", "fits"), [(5, 10), (3, 10), (1, 2.5)])
def test_automatic_settings_cost_no_more_than_their_budget(three_blobs, monkeypatch, n_members, fits):
    X, _, codes = three_blobs
    monkeypatch.setattr(tuning, "MEMBERS", tuning.MEMBERS[:n_members])
    fixed = {"graph": "knn", "n_neighbors": 9, "normalize": "l2", "sigma": 0.2}
    one = epochs_of(monkeypatch, lambda: automatic(model="sgc", **fixed).fit(X, codes))
    all_of_them = epochs_of(monkeypatch, lambda: automatic(model="sgc").fit(X, codes))
    assert one == 30
    assert n_members * one < all_of_them <= fits * one
