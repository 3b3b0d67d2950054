"""Every measure against its definition, and the identities all of them obey."""

from functools import partial
from itertools import combinations
from statistics import median

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import correlation as module
from grande_gnn.graph import ranked_lists
from grande_gnn.graph.correlation import MEASURES, kendall, rank_correlation, rbo

DEPTH = 8


def overlaps(x, y):
    return [len(set(x[:t]) & set(y[:t])) for t in range(1, len(x) + 1)]


def jaccards(x, y):
    return [o / (2 * t - o) for t, o in enumerate(overlaps(x, y), 1)]


def place(item, items):
    return items.index(item) if item in items else len(items)


def kendall_definition(x, y, tie=0.5):
    discordant = 0.0
    pairs = list(combinations(sorted(set(x) | set(y)), 2))
    for e, f in pairs:
        sign = (place(e, x) - place(f, x)) * (place(e, y) - place(f, y))
        discordant += 1 if sign < 0 else tie if sign == 0 else 0
    return 1 - discordant / len(pairs)


def footrule_definition(x, y):
    total = sum(abs(place(e, x) - place(e, y)) for e in set(x) | set(y))
    return 1 - total / (len(x) * (len(x) + 1))


def rbo_definition(x, y, p=0.9):
    return (1 - p) * sum(p ** (t - 1) * o / t for t, o in enumerate(overlaps(x, y), 1))


DEFINITIONS = {
    "rbo": rbo_definition,
    "jaccard": lambda x, y: jaccards(x, y)[-1],
    "jaccard_k": lambda x, y: sum(jaccards(x, y)) / len(x),
    "jaccard_max": lambda x, y: max(jaccards(x, y)),
    "jaccard_median": lambda x, y: median(jaccards(x, y)),
    "intersection": lambda x, y: sum(overlaps(x, y)) / (len(x) * (len(x) + 1) / 2),
    "spearman": footrule_definition,
    "kendall": kendall_definition,
}


@pytest.fixture(scope="module")
def lists():
    rng = np.random.default_rng(0)
    return ranked_lists(rng.normal(size=(30, 3)), 20)


def by_definition(lists, depth, definition):
    tops = lists[:, :depth].tolist()
    return np.array([[definition(tops[i], tops[j]) for j in row] for i, row in enumerate(lists)])


def test_every_measure_is_defined_here():
    assert set(DEFINITIONS) == set(MEASURES)


@pytest.mark.parametrize("depth", [1, 2, DEPTH, 9, 20])
@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"kendall"}))
def test_equals_its_definition(lists, name, depth):
    expected = by_definition(lists, depth, DEFINITIONS[name])
    np.testing.assert_allclose(rank_correlation(lists, depth, measure=name), expected, atol=1e-12)


@pytest.mark.parametrize("depth", [2, DEPTH, 9, 20])
@pytest.mark.parametrize(("tie", "weight"), [("half", 0.5), ("zero", 0.0)])
def test_kendall_equals_its_definition(lists, depth, tie, weight):
    expected = by_definition(lists, depth, partial(kendall_definition, tie=weight))
    found = rank_correlation(lists, depth, measure=partial(kendall, tie=tie))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_rbo_takes_another_p(lists):
    expected = by_definition(lists, DEPTH, partial(rbo_definition, p=0.7))
    np.testing.assert_allclose(
        rank_correlation(lists, DEPTH, measure=partial(rbo, p=0.7)), expected, atol=1e-12
    )


@pytest.mark.parametrize("name", MEASURES)
def test_is_symmetric_to_the_last_bit(lists, name):
    full = ranked_lists(np.random.default_rng(1).normal(size=(25, 3)), 25)
    square = np.empty((25, 25))
    np.put_along_axis(square, full.astype(np.intp), rank_correlation(full, DEPTH, measure=name), axis=1)
    np.testing.assert_array_equal(square, square.T)


@pytest.mark.parametrize("name", MEASURES)
def test_identical_lists_score_the_maximum(lists, name):
    scores = rank_correlation(lists, DEPTH, measure=name)
    most = 1 - 0.9**DEPTH if name == "rbo" else 1.0
    np.testing.assert_allclose(scores[:, 0], most, atol=1e-12)
    assert scores.max() <= most + 1e-12
    assert scores.min() >= 0


@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"kendall"}))
def test_disjoint_lists_score_zero(name):
    # The first three of 0 and of 5 have nothing in common; 0 names 5 only after that.
    lists = [[0, 1, 2, 5], [1, 0, 2, 3], [2, 1, 0, 3], [3, 4, 5, 0], [4, 3, 5, 0], [5, 4, 3, 0]]
    assert rank_correlation(lists, 3, measure=name)[0, 3] == 0


def test_disjoint_lists_in_kendall_keep_the_undecided_half():
    lists = [[0, 1, 2, 5], [1, 0, 2, 3], [2, 1, 0, 3], [3, 4, 5, 0], [4, 3, 5, 0], [5, 4, 3, 0]]
    # 9 of the 15 pairs are opposite, 6 are undecided.
    assert rank_correlation(lists, 3, measure="kendall")[0, 3] == pytest.approx(1 - 12 / 15)


@pytest.mark.parametrize("name", MEASURES)
def test_some_rows_equal_those_of_all(lists, name):
    everything = rank_correlation(lists, DEPTH, measure=name)
    rows = [7, 0, 29]
    np.testing.assert_array_equal(rank_correlation(lists, DEPTH, measure=name, rows=rows), everything[rows])


@pytest.mark.parametrize("name", MEASURES)
def test_numbering_does_not_matter(lists, name):
    shuffle = np.random.default_rng(2).permutation(len(lists))
    renamed = np.empty_like(lists)
    renamed[shuffle] = shuffle[lists]
    scores = rank_correlation(lists, DEPTH, measure=name)
    np.testing.assert_array_equal(rank_correlation(renamed, DEPTH, measure=name)[shuffle], scores)


def test_positions_beyond_a_byte_are_exact():
    lists = ranked_lists(np.random.default_rng(3).normal(size=(300, 2)), 300)
    few = [0, 150]
    tops = lists.tolist()
    for name in ("rbo", "kendall"):
        scores = rank_correlation(lists, 300, measure=name, rows=few)
        assert scores[1, 2] == pytest.approx(DEFINITIONS[name](tops[150], tops[tops[150][2]]), abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"depth": 21}, "got depth 21 and lists of length 20"),
        ({"depth": 0}, "depth must be an integer of at least 1"),
        ({"measure": "pearson"}, "measure must be one of rbo"),
        ({"measure": partial(rbo, p=1.0)}, "must lie between 0 and 1 .* got 1.0"),
        ({"measure": partial(kendall, tie="one")}, "tie must be one of half, zero"),
    ],
)
def test_says_what_is_wrong(lists, arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        rank_correlation(lists, **{"depth": DEPTH, **arguments})


@pytest.mark.parametrize("measure", sorted(MEASURES))
def test_scores_do_not_depend_on_the_size_of_a_block(monkeypatch, measure):
    lists = ranked_lists(np.random.default_rng(3).normal(size=(70, 4)), 30)
    whole = rank_correlation(lists, DEPTH, measure=measure)
    for rows_at_once in (1, 7):
        monkeypatch.setitem(module._MOST_ROWS, "cpu", rows_at_once)
        np.testing.assert_array_equal(rank_correlation(lists, DEPTH, measure=measure), whole)


def test_scores_on_a_device_are_the_same_to_the_last_bit():
    scorer = rbo(40)
    positions = np.random.default_rng(4).integers(0, 41, size=(500, 40)).astype(np.uint8)
    assert isinstance(scorer, module.OnDevice)
    on_device = scorer.of_tensor(module.torch.from_numpy(positions))
    np.testing.assert_array_equal(on_device.numpy(), scorer(positions))


def test_depths_beyond_one_byte_are_compared_too():
    lists = ranked_lists(np.random.default_rng(5).normal(size=(300, 3)), 300)
    assert rank_correlation(lists, 300, measure="jaccard", rows=[0, 7]).min() == 1
