"""Held-out labels weigh the members: short trainings on halves, which never see what they are asked about."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.classifier import votes as module
from grande_gnn.classifier.halves import split_halves, without_unknown
from grande_gnn.classifier.label_weights import balanced_weights
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.classifier.votes import short_settings, take_votes
from grande_gnn.degree import Grande
from grande_gnn.engine import Settings
from grande_gnn.graph import Graph, reciprocal_knn_graph

QUICK = Settings(device="cpu", epochs=30, lr=0.01)


@pytest.fixture
def problem(three_blobs):
    X, _, _ = three_blobs
    return LearningProblem(X, reciprocal_knn_graph(X, 10), 3, Grande(0.2), QUICK, 8)


@pytest.fixture
def misled(three_blobs):
    """A problem on a graph that joins samples of different classes."""
    X, _, _ = three_blobs
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 90, 900), rng.integers(0, 90, 900), 90)
    return LearningProblem(X, graph, 3, Grande(0.2), QUICK, 8)


def test_a_training_on_a_half_is_a_third_as_long_and_three_times_as_fast():
    short = short_settings(Settings(epochs=200, lr=1e-3))
    assert (short.epochs, short.lr) == (67, pytest.approx(3e-3))
    assert short_settings(Settings(lr=0.02)).lr == pytest.approx(0.03)
    assert short_settings(Settings(lr=0.1)).lr == 0.1
    assert short_settings(Settings(epochs=0)).epochs == 0


def test_one_member_answers_as_two_short_balanced_trainings(three_blobs, problem):
    _, _, codes = three_blobs
    codes = np.where((codes == 1) & (np.arange(90) > 8), -1, codes)  # uneven
    votes = take_votes([problem], codes)
    assert votes.weights == [1.0]
    short = LearningProblem(problem.inputs, problem.graph, 3, problem.degree, short_settings(QUICK), 8)
    for fold, half in enumerate(split_halves(codes)):
        known = np.where(half, codes, -1)
        (outcome,) = short.train([LabelSet(known, fold, weights=balanced_weights(known))], keep_models=True)
        expected = without_unknown(outcome.logits / votes.temperatures[0], range(3))
        np.testing.assert_allclose(votes.halves.probabilities[fold], expected, atol=1e-5)


def test_the_halves_answer_with_the_weighted_mean(three_blobs, problem, misled):
    _, _, codes = three_blobs
    votes = take_votes([problem, misled], codes)
    assert sum(votes.weights) == pytest.approx(1)
    assert votes.weights[0] > votes.weights[1]
    alone = [take_votes([one], codes) for one in (problem, misled)]
    expected = sum(w * v.halves.probabilities[1] for w, v in zip(votes.weights, alone, strict=True))
    np.testing.assert_allclose(votes.halves.probabilities[1], expected, atol=1e-5)


def test_members_are_added_one_after_the_other(three_blobs, problem, monkeypatch):
    """Five members' probabilities by both halves would be 80 n c bytes at once, beside 40 n c of logits."""
    codes = np.full(4000, -1)
    codes[:90] = three_blobs[2]
    rng = np.random.default_rng(0)
    n_classes, n_members = 50, 5
    kept = [rng.normal(size=(2, 4000, n_classes)).astype(np.float32) for _ in range(n_members)]
    known = split_halves(codes)
    expected = [sum(0.2 * without_unknown(z[h], range(3), 1 + m) for m, z in enumerate(kept)) for h in (0, 1)]
    own = iter(kept)
    monkeypatch.setattr(module, "_half_logits", lambda *_: tuple(next(own).copy()))
    monkeypatch.setattr(module, "stacked_weights", lambda each: np.full(each.shape[1], 0.2))
    scales = iter(range(1, 1 + n_members))
    monkeypatch.setattr(module, "member_temperature", lambda *_: next(scales))
    tracemalloc.start()
    votes = take_votes([problem] * n_members, codes)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(votes.halves.probabilities, expected)
    np.testing.assert_array_equal(votes.halves.known, known)
    assert most < 75 * 4000 * n_classes


def test_one_label_per_class_leaves_members_equal(three_blobs, problem, misled):
    _, _, codes = three_blobs
    votes = take_votes([problem, misled], np.where(np.arange(90) < 3, codes, -1), graph_free=True)
    assert votes.weights == [0.5, 0.5]
    assert votes.temperatures == [1.0, 1.0]
    assert votes.graph_free_weight == 0
    assert votes.halves is not None


def test_there_are_no_votes_of_one_class_or_one_group(three_blobs, problem):
    _, _, codes = three_blobs
    for labels, groups in [(np.where(codes == 0, 0, -1), None), (codes, np.zeros(90, dtype=np.int64))]:
        votes = take_votes([problem, problem], labels, groups)
        assert votes.halves is None
        assert (votes.weights, votes.temperatures) == ([0.5, 0.5], [1.0, 1.0])


def test_copies_are_in_one_half(three_blobs, problem):
    _, _, codes = three_blobs
    groups = np.arange(90) // 2 * 2
    one, _ = take_votes([problem], codes, groups).halves.known
    np.testing.assert_array_equal(one[:30:2], one[1:30:2])


def test_a_member_without_a_graph_counts_only_where_graphs_mislead(three_blobs, problem, misled):
    _, _, codes = three_blobs
    longer = replace(problem, settings=Settings(device="cpu", epochs=200, lr=0.02))
    good, bad = (take_votes([one], codes, graph_free=True) for one in (longer, misled))
    assert good.graph_free_weight == 0
    assert bad.graph_free_weight > 0.4
    assert sum(bad.weights) + bad.graph_free_weight == pytest.approx(1)
    assert take_votes([misled], codes).graph_free_weight == 0
    without, with_it = take_votes([misled], codes).halves, bad.halves
    assert with_it.held_out().hits.mean() > without.held_out().hits.mean()


def test_few_labels_do_not_try_a_member_without_a_graph(three_blobs, misled, monkeypatch):
    _, _, codes = three_blobs
    tried = []
    train = module.GraphFree.train
    monkeypatch.setattr(module.GraphFree, "train", lambda *a, **b: tried.append(a) or train(*a, **b))
    take_votes([misled], np.where(np.arange(90) < 11, codes, -1), graph_free=True)
    assert not tried
    take_votes([misled], np.where(np.arange(90) < 12, codes, -1), graph_free=True)
    assert len(tried) == 2
