"""Each re-ranker against a slow, dense reading of its published definition, and what all of them keep."""

import math

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import ranked_lists
from grande_gnn.graph.rerank import RERANKERS, bfstree, common, cprr, lhrr, normalise_ranks, rdpac

N = 45


def features(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) + 2 * rng.normal(size=(4, 4))[np.arange(n) % 4]


@pytest.fixture(scope="module", params=[(0, 30), (1, 45), (2, 18)], ids=["30", "all", "18"])
def lists(request):
    seed, length = request.param
    return ranked_lists(features(seed=seed), length)


def digits(x):
    """Ties in exact arithmetic are ties here too."""
    return float(f"{x:.10e}")


def sort_dense(lists, matrix):
    """Insertion order kept on ties, then the sample itself swapped to the front."""
    out = []
    for i, row in enumerate(lists.tolist()):
        row = sorted(row, key=lambda j, i=i: -digits(matrix[i, j]))
        here = row.index(i)
        row[0], row[here] = row[here], row[0]
        out.append(row)
    return np.array(out)


def normalise_dense(lists, f):
    matrix = np.zeros((len(lists), len(lists)))
    for i, row in enumerate(lists):
        for pos, j in enumerate(row):
            matrix[i, j] += f(pos)
            matrix[j, i] += f(pos)
    return sort_dense(lists, matrix)


def cprr_dense(lists, k, rounds):
    length = lists.shape[1]
    lists = normalise_dense(lists, lambda pos: length - pos)
    for _ in range(rounds):
        M = np.zeros((len(lists), len(lists)))
        for row in lists:
            for a in range(k):
                for b in range(k):
                    M[row[a], row[b]] += 2 * (k - a) * (k - b)
        for j in range(len(lists)):
            references = [(i, k - p) for i, row in enumerate(lists) for p in range(1, k) if row[p] == j]
            for i, a in references:
                for other, b in references:
                    M[i, other] += 2 * a * b
        lists = sort_dense(lists, M)
    return lists


def rbo_dense(x, y, p):
    return (1 - p) * sum(p ** (t - 1) * len(set(x[:t]) & set(y[:t])) / t for t in range(1, len(x) + 1))


def bfstree_dense(lists, k):
    n, length = lists.shape
    lists = normalise_dense(lists, lambda pos: length - pos)
    M = np.full((n, n), np.inf)
    for i, row in enumerate(lists):
        for pos, j in enumerate(row):
            M[i, j] = min(M[i, j], length - pos)
            M[j, i] = min(M[j, i], length - pos)
    lists = sort_dense(lists, M)
    W = np.zeros((n, n))
    cor = {(i, j): rbo_dense(lists[i, :k], lists[j, :k], 0.7) for i in range(n) for j in lists[i, :k]}
    for q in range(n):
        first = [(i, cor[q, i]) for i in lists[q, :k]]
        second = [(j, cor[q, i] * cor[i, j]) for i in lists[q, 1:k] for j in lists[i, 1:k]]
        for left, right in ((first, first), (second, second), (first, second)):
            for a, x in left:
                for b, y in right:
                    W[a, b] += x * y
    W = W / (1 + W.sum(axis=0))
    D = np.zeros((n, n))
    for i in range(n):
        for j in lists[i]:
            D[i, j] = sum(W[i, m] * W[j, m] for m in lists[i])
    return sort_dense(lists, D / (1 + D.sum(axis=0)))


def rdpac_dense(lists, k, rounds=15, p=0.6, pl=0.99):
    n, width = lists.shape
    half = width // 2
    lists = normalise_dense(lists, lambda pos: pl ** (pos + 1) if pos < half else 0.0)
    near, wide = np.zeros((n, n), bool), np.zeros((n, n), bool)
    W = np.zeros((n, n))
    for i, row in enumerate(lists):
        near[i, row[:half]] = True
        wide[i, row] = True
        for t in range(k):
            W[i, row[t]] = p ** (t + 1)
    P, W = W, W / W.sum(axis=0)
    for _ in range(rounds):
        P = P / P.sum(axis=0)
        P = np.where(near, P @ W.T, 0)
        P = 0.95 * P + 0.05 * np.eye(n)
    P = P / P.sum(axis=0)
    Q = np.where(wide, P @ P, 0)
    return sort_dense(lists, P @ Q)


def lhrr_dense(lists, k, rounds, variant):
    n, length = lists.shape
    lists = normalise_dense(lists, lambda pos: length - pos).tolist()
    for _ in range(rounds):
        H, member = np.eye(n), np.eye(n, dtype=bool)
        for i in range(n):
            for a, x in enumerate(lists[i][:k], 1):
                for b, y in enumerate(lists[x][:k], 1):
                    H[i, y] += (1 - math.log(a, k)) * (1 - math.log(b, k))
                    member[i, y] = True
        confidence = np.sort(H, axis=1)[:, -k:].sum(axis=1)
        C = H.T @ np.diag(confidence) @ H
        second = (H @ H).T if variant == "udlf" else H.T @ H
        W = (1 + C) * (H @ H.T) * second
        shared = (member.T.astype(int) @ member) > 0
        lists = [lhrr_row(i, lists[i], W[i], 1 + C[i], shared[i]) for i in range(n)]
    return np.array(lists)


def lhrr_row(i, row, inside, outside, shared):
    row = [i, *sorted(row[1:], key=lambda j: -digits(inside[j]))]
    sorted_values = [inside[j] for j in row]
    waiting = sorted((j for j in np.flatnonzero(shared) if j not in row), key=lambda j: -digits(outside[j]))
    result = list(row)
    for rank in range(1, len(row)):
        if waiting and digits(outside[waiting[0]]) > digits(sorted_values[rank]):
            result.insert(rank, waiting.pop(0))
    return result[: len(row)]


def test_rank_normalisation(lists):
    length = lists.shape[1]
    np.testing.assert_array_equal(normalise_ranks(lists), normalise_dense(lists, lambda pos: length - pos))
    weights = 0.8 ** np.arange(length)
    np.testing.assert_array_equal(
        normalise_ranks(lists, weights), normalise_dense(lists, lambda pos: weights[pos])
    )


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("k", [1, 6, 15])
def test_cprr(lists, k, rounds):
    np.testing.assert_array_equal(cprr(lists, k, n_iterations=rounds), cprr_dense(lists, k, rounds))


@pytest.mark.parametrize("k", [4, 8])
def test_bfstree(lists, k):
    np.testing.assert_array_equal(bfstree(lists, k), bfstree_dense(lists, k))


@pytest.mark.parametrize("k", [4, 8])
def test_rdpac(lists, k):
    np.testing.assert_array_equal(rdpac(lists, k), rdpac_dense(lists, k))


@pytest.mark.parametrize("variant", ["udlf", "paper"])
@pytest.mark.parametrize(("k", "rounds"), [(2, 1), (5, 1), (5, 2), (9, 2)])
def test_lhrr(lists, k, rounds, variant):
    found = lhrr(lists, k, n_iterations=rounds, variant=variant)
    np.testing.assert_array_equal(found, lhrr_dense(lists, k, rounds, variant))


def test_lhrr_brings_in_samples_from_outside(lists):
    found = lhrr(lists, 5)
    news = [set(a) - set(b) for a, b in zip(found.tolist(), lists.tolist(), strict=True)]
    assert any(news) == (lists.shape[1] < N)


@pytest.mark.parametrize("name", RERANKERS)
def test_gives_ranked_lists(lists, name):
    before = lists.copy()
    found = RERANKERS[name](lists)
    np.testing.assert_array_equal(lists, before)
    assert found.dtype == np.int32
    assert found.shape == lists.shape
    np.testing.assert_array_equal(found[:, 0], np.arange(N))
    assert all(len(set(row)) == len(row) for row in found.tolist())


@pytest.mark.parametrize("name", RERANKERS)
def test_block_size_does_not_matter(lists, name, monkeypatch):
    expected = RERANKERS[name](lists)
    monkeypatch.setattr(common, "_BLOCK_BYTES", 8 * N * 7)
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
def test_few_samples(name, n):
    lists = ranked_lists(features(n), n)
    assert sorted(RERANKERS[name](lists).ravel()) == sorted(lists.ravel())


@pytest.mark.parametrize("name", RERANKERS)
def test_separate_groups_stay_separate(name):
    X = np.concatenate([features(30), features(30, seed=1) + 1000])
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
