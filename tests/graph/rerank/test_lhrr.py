"""LHRR against a slow, dense reading of its published definition and of its authors' program."""

import math

import numpy as np
import pytest

from grande_gnn.graph.rerank import lhrr


def lhrr_dense(dense, lists, k, rounds, variant):
    n, length = lists.shape
    lists = dense.normalize(lists, lambda pos: length - pos).tolist()
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
        lists = [lhrr_row(dense, i, lists[i], W[i], 1 + C[i], shared[i]) for i in range(n)]
    return np.array(lists)


def lhrr_row(dense, i, row, inside, outside, shared):
    row = [i, *sorted(row[1:], key=lambda j: -dense.digits(inside[j]))]
    sorted_values = [inside[j] for j in row]
    waiting = sorted(
        (j for j in np.flatnonzero(shared) if j not in row), key=lambda j: -dense.digits(outside[j])
    )
    result = list(row)
    for rank in range(1, len(row)):
        if waiting and dense.digits(outside[waiting[0]]) > dense.digits(sorted_values[rank]):
            result.insert(rank, waiting.pop(0))
    return result[: len(row)]


@pytest.mark.parametrize("variant", ["udlf", "paper"])
@pytest.mark.parametrize(("k", "rounds"), [(2, 1), (5, 1), (5, 2), (9, 2)])
def test_equals_the_definition(lists, dense, k, rounds, variant):
    found = lhrr(lists, k, n_iterations=rounds, variant=variant)
    np.testing.assert_array_equal(found, lhrr_dense(dense, lists, k, rounds, variant))


def test_brings_in_samples_from_outside(lists):
    found = lhrr(lists, 5)
    news = [set(a) - set(b) for a, b in zip(found.tolist(), lists.tolist(), strict=True)]
    assert any(news) == (lists.shape[1] < len(lists))


def test_the_defaults_are_18_neighbors_and_2_iterations(lists):
    np.testing.assert_array_equal(lhrr(lists), lhrr(lists, min(18, lists.shape[1]), n_iterations=2))
    if lists.shape[1] > 18:
        assert (lhrr(lists) != lhrr(lists, 12)).any()
    assert (lhrr(lists) != lhrr(lists, n_iterations=1)).any()
