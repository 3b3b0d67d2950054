"""What "auto" stands for: a committee that fits the data and keeps what the user fixed."""

import logging
from itertools import pairwise

import pytest

from grande_gnn.classifier.preparation import Choice
from grande_gnn.classifier.tuning import FAVORITE, MEMBERS, PAPER, adapted_neighbors, members_for

OPEN = Choice("auto", "auto", "auto", "auto")


def kinds(choices):
    return [(choice.graph, choice.n_neighbors) for choice in choices]


def test_the_committee_is_five_graphs_over_one_normalization():
    members = members_for(OPEN, 1360, 17)
    assert members == list(MEMBERS)
    assert sorted(kinds(members)) == [
        ("dgcg", 20), ("dgcg", 40), ("knn", 10), ("knn", 20), ("reciprocal", 10)
    ]  # fmt: skip
    assert {(m.normalize, m.sigma) for m in members} == {("center-l2", 0.2)}
    assert members[0] == FAVORITE == Choice("dgcg", 40, "center-l2", 0.2)
    assert Choice("reciprocal", 40, "none", 0.2) == PAPER


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Choice("dgcg", "auto", "auto", "auto"), [("dgcg", 40), ("dgcg", 20), ("dgcg", 10)]),
        (Choice("auto", 7, "l2", 0.5), [("dgcg", 7), ("reciprocal", 7), ("knn", 7)]),
        (Choice("knn", 9, "auto", "auto"), [("knn", 9)]),
        (Choice("knn", 9, "none", 0.3), [("knn", 9)]),
    ],
)
def test_what_is_fixed_is_the_same_in_every_member(wanted, expected):
    members = members_for(wanted, 1360, 17)
    assert sorted(kinds(members)) == sorted(expected)
    assert all(wanted.fill(member) == member for member in members)
    assert not any(member.is_open for member in members)


def test_small_classes_get_fewer_neighbors_and_never_more_than_samples():
    assert kinds(members_for(OPEN, 400, 20)) == [
        ("dgcg", 20), ("knn", 10), ("reciprocal", 5), ("knn", 5), ("dgcg", 10)
    ]  # fmt: skip
    assert {k for _, k in kinds(members_for(OPEN, 3, 2))} == {3}
    sizes = [adapted_neighbors(40, n, 10) for n in range(1, 1000)]
    assert all(a <= b for a, b in pairwise(sizes))  # more samples, never fewer neighbors
    assert max(sizes) == 40
    assert all(k <= n for n, k in enumerate(sizes, 1))


@pytest.mark.parametrize(("n", "count"), [(20_000, 5), (20_001, 3), (50_000, 3), (50_001, 1)])
def test_large_data_get_fewer_members_and_the_user_is_told(n, count, caplog):
    with caplog.at_level(logging.WARNING):
        members = members_for(OPEN, n, 10)
    assert members == list(MEMBERS[:count])
    assert ("committee has at most" in caplog.text) == (count < 5)
