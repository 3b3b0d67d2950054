"""The test of a random sample rejects what is none, and reasons name the source that matters."""

import numpy as np
import pytest

from grande_gnn.graph import ranked_lists
from grande_gnn.labelling import doubts
from grande_gnn.labelling.doubts import SampleTest, reasons, sample_test

FINE = SampleTest(1.0, 1.0, 1.0)
ABOUT = {"n_labels": 20, "effective": 20.0, "n_single": 2, "test": FINE}


def along_a_line(n=300):
    """Samples along a line, whose neighbors are those beside them."""
    return ranked_lists(np.arange(n, dtype=np.float32)[:, None], 11), np.zeros(n, dtype=int)


def random_sample(n, m, seed):
    known = np.zeros(n, dtype=bool)
    known[np.random.default_rng(seed).choice(n, m, replace=False)] = True
    return known


def test_a_random_sample_is_seldom_rejected():
    lists, classes = along_a_line()
    p = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p.append(sample_test(lists, random_sample(300, 30, seed), classes, rng.random(30), rng.random(270)))
    assert sum(test.rejects_random_sample for test in p) <= 2
    assert 0.3 < np.mean([test.crowding for test in p]) < 0.7
    assert 0.3 < np.mean([test.typicality for test in p]) < 0.7


def test_labels_side_by_side_crowd_and_labels_spread_evenly_keep_apart():
    lists, classes = along_a_line()
    same = np.linspace(0, 1, 30), np.linspace(0, 1, 270)
    for known in (np.arange(300) < 30, np.arange(300) % 10 == 0):
        test = sample_test(lists, known, classes, *same)
        assert test.rejects_random_sample
        assert test.ease > 0.9


def test_as_many_of_each_class_are_drawn():
    """All of a small class and few of a large one are labelled: nothing speaks against random choices within classes."""
    lists, _ = along_a_line()
    classes = (np.arange(300) >= 20).astype(int)
    known = (classes == 0) | random_sample(300, 15, 0)
    same = np.linspace(0, 1, 30), np.linspace(0, 1, 270)
    assert sample_test(lists, known, classes, *same).crowding > 0.05
    assert sample_test(lists, known, np.zeros(300, dtype=int), *same).crowding < 0.02


def test_easy_labelled_images_are_noticed():
    lists, classes = along_a_line()
    rng = np.random.default_rng(0)
    test = sample_test(lists, random_sample(300, 30, 1), classes, 0.9 + rng.random(30) / 10, rng.random(270))
    assert test.rejects_random_sample
    assert test.ease < 1e-6


def cloud(seed=0):
    """Normal features: samples in the middle are among the neighbors of many others."""
    X = np.random.default_rng(seed).normal(size=(300, 8)).astype(np.float32)
    return ranked_lists(X, 11), np.linalg.norm(X, axis=1)


@pytest.mark.parametrize("part", [slice(0, 60), slice(240, 300)])
def test_typical_and_untypical_labelled_images_are_noticed(part):
    """A random half of the 60 samples that are nearest to the middle, or furthest from it."""
    lists, distance = cloud()
    rng = np.random.default_rng(0)
    known = np.zeros(300, dtype=bool)
    known[rng.choice(np.argsort(distance)[part], 30, replace=False)] = True
    same = np.linspace(0, 1, 30), np.linspace(0, 1, 270)
    test = sample_test(lists, known, np.zeros(300, dtype=int), *same)
    assert test.typicality < 0.003
    assert test.rejects_random_sample
    assert sample_test(lists, random_sample(300, 30, 1), np.zeros(300, dtype=int), *same).typicality > 0.05


def test_classes_that_are_more_typical_than_others_contradict_nothing():
    """Most of the class in the middle is labelled and little of the other one: random choices within classes."""
    lists, distance = cloud()
    classes = (distance > np.median(distance)).astype(int)
    rng = np.random.default_rng(0)
    known = rng.random(300) < np.where(classes == 0, 0.5, 0.05)
    same = np.linspace(0, 1, 30), np.linspace(0, 1, 270)
    assert sample_test(lists, known, classes, *same).typicality > 0.02
    assert sample_test(lists, known, np.zeros(300, dtype=int), *same).typicality < 0.003


def test_each_comparison_by_itself_can_contradict():
    for place in range(3):
        p = [1.0, 1.0, 1.0]
        p[place] = 0.003
        assert SampleTest(*p).rejects_random_sample
        p[place] = 0.004
        assert not SampleTest(*p).rejects_random_sample


@pytest.mark.parametrize("known", [np.ones(300, dtype=bool), np.zeros(300, dtype=bool)])
def test_nothing_to_compare_contradicts_nothing(known):
    lists, classes = along_a_line()
    assert sample_test(lists, known, classes, np.array([]), np.array([])) == FINE


def test_a_narrow_interval_needs_no_reason():
    assert reasons({"labels": 0.03}, 0.09, **ABOUT) == []
    assert reasons({"labels": 0.03}, 0.11, **ABOUT) == ["There are only 20 labels: label more images."]


def test_the_main_reason_comes_first_and_small_ones_are_left_out():
    said = reasons({"labels": 0.05, "gain": 0.06, "unseen": 0.02, "shift": 0.0}, 0.3, **ABOUT)
    assert len(said) == 2
    assert said[0].startswith("Models trained on half of the labels")
    assert "only 20 labels" in said[1]


def test_every_source_has_a_sentence_with_what_to_do():
    for source in ("labels", "shift", "gain", "unseen"):
        (said,) = reasons({source: 0.1}, 0.4, **ABOUT)
        assert ":" in said
    assert "There are 2 classes with one label" in reasons({"unseen": 0.1}, 0.4, **ABOUT)[0]


def test_labels_in_series_are_said_to_count_less():
    (said,) = reasons({"labels": 0.1}, 0.4, **(ABOUT | {"effective": 7.2}))
    assert "20 labels are worth only 7 independent ones" in said


def test_a_contradicted_sample_is_always_mentioned():
    said = reasons({"labels": 0.01}, 0.02, **(ABOUT | {"test": SampleTest(0.001, 1.0, 1.0)}))
    assert "The labelled images differ from the others: label some images picked at random." in said


@pytest.mark.parametrize("draw", [doubts._draw_by_order, doubts._draw_by_class])
def test_permutations_draw_as_many_of_each_class_as_are_labelled(draw):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, size=200)
    few = int(np.sum(classes == 3))
    wanted = np.array([3, 0, 7, few - 1])
    starts = np.concatenate([[0], np.cumsum(np.bincount(classes))[:-1]])
    by_class = np.argsort(classes, kind="stable")
    count = np.zeros(200)
    for _ in range(2000):
        drawn = draw(rng, classes, wanted, starts, by_class)
        assert len(set(drawn.tolist())) == len(drawn) == 9 + few
        np.testing.assert_array_equal(np.bincount(classes[drawn], minlength=4), wanted)
        count[drawn] += 1
    share = count / 2000 * np.bincount(classes)[classes]
    np.testing.assert_allclose(
        share, wanted[classes], atol=1.6
    )  # every sample of a class is drawn equally often


def test_many_samples_are_tested_like_few(monkeypatch):
    rng = np.random.default_rng(1)
    lists = np.stack([np.roll(np.arange(300), -i)[:11] for i in range(300)]).astype(np.int32)
    side_by_side = np.arange(300) < 30
    spread = np.isin(np.arange(300), rng.choice(300, 30, replace=False))
    monkeypatch.setattr(doubts, "MANY", 100)
    nothing = np.empty(0)
    assert doubts.sample_test(lists, side_by_side, np.zeros(300, int), nothing, nothing).rejects_random_sample
    assert not doubts.sample_test(lists, spread, np.zeros(300, int), nothing, nothing).rejects_random_sample


def test_no_more_is_drawn_than_the_decision_needs(monkeypatch):
    """With all draws, the decision is the same; where it is clear early, few are drawn."""
    lists, classes = along_a_line()
    same = np.linspace(0, 1, 30), np.linspace(0, 1, 270)
    drawn = []
    draw = doubts._draw_by_order
    monkeypatch.setattr(doubts, "_draw_by_order", lambda *given: drawn.append(1) or draw(*given))
    for known in (
        np.arange(300) < 30,
        np.arange(300) % 10 == 0,
        *(random_sample(300, 30, s) for s in range(8)),
    ):
        decisions, counts = [], []
        for enough in (doubts.ENOUGH, doubts.N_PERMUTATIONS):
            drawn.clear()
            monkeypatch.setattr(doubts, "ENOUGH", enough)
            decisions.append(sample_test(lists, known, classes, *same).rejects_random_sample)
            counts.append(len(drawn))
        monkeypatch.setattr(doubts, "ENOUGH", 10)
        assert decisions[0] == decisions[1]
        assert counts[1] == doubts.N_PERMUTATIONS
        assert counts[0] == doubts.N_PERMUTATIONS if decisions[0] else counts[0] < doubts.N_PERMUTATIONS


@pytest.mark.parametrize(
    ("effective", "words"),
    [
        (0.0, "Each class has only one label"),
        (1.2, "only 1 independent one,"),
        (3.0, "only 3 independent ones,"),
    ],
)
def test_what_the_labels_are_worth(effective, words):
    (said,) = reasons({"labels": 0.1}, 0.4, **(ABOUT | {"effective": effective}))
    assert words in said
