"""What all re-rankers keep: ranked lists in, ranked lists out, clusters drawn together."""

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import ranked_lists
from grande_gnn.graph.rerank import RERANKERS, bfstree, common, cprr, lhrr, rdpac


@pytest.mark.parametrize("name", RERANKERS)
def test_gives_ranked_lists(lists, name):
    before = lists.copy()
    found = RERANKERS[name](lists)
    np.testing.assert_array_equal(lists, before)
    assert found.dtype == np.int32
    assert found.shape == lists.shape
    np.testing.assert_array_equal(found[:, 0], np.arange(len(lists)))
    assert all(len(set(row)) == len(row) for row in found.tolist())


@pytest.mark.parametrize("name", RERANKERS)
def test_block_size_does_not_matter(lists, name, monkeypatch):
    expected = RERANKERS[name](lists)
    monkeypatch.setattr(common, "_BLOCK_BYTES", 8 * len(lists) * 7)
    np.testing.assert_array_equal(RERANKERS[name](lists), expected)


@pytest.mark.parametrize("name", RERANKERS)
def test_draws_clusters_together(name):
    # Two well-filled rings, one inside the other: the nearest samples are not always of the same ring.
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 150, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = np.concatenate([ring, 1.7 * ring]) + 0.02 * rng.normal(size=(300, 2))
    side = np.arange(300) // 150
    lists = ranked_lists(X, 120)
    precision = [(side[r[:, 1:40]] == side[:, None]).mean() for r in (lists, RERANKERS[name](lists))]
    assert precision[1] > precision[0] + 0.02


@pytest.mark.parametrize("name", RERANKERS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_samples(name, n, dense):
    lists = ranked_lists(dense.features(n), n)
    assert sorted(RERANKERS[name](lists).ravel()) == sorted(lists.ravel())


@pytest.mark.parametrize("name", RERANKERS)
def test_separate_groups_stay_separate(name, dense):
    X = np.concatenate([dense.features(30), dense.features(30, seed=1) + 1000])
    found = RERANKERS[name](ranked_lists(X, 30))
    assert ((found < 30) == (np.arange(60)[:, None] < 30)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda lists: lhrr(lists, 1), "n_neighbors must be an integer of at least 2; got 1"),
        (lambda lists: lhrr(lists, variant="best"), "variant must be one of udlf, paper; got 'best'"),
        (lambda lists: cprr(lists, 0), "n_neighbors must be an integer of at least 1"),
        (lambda lists: rdpac(lists, p=0.0), "p must be a number"),
        (lambda lists: bfstree(lists[:, ::-1]), "must start with i itself"),
    ],
)
def test_says_what_is_wrong(lists, call, words):
    with pytest.raises(InvalidInputError, match=words):
        call(lists)
