"""LHRR: log-based hypergraph of ranking references.

With P[i, r_i(p)] = 1 − log_K p for the first K of each list, row i of H = I + PP is the hyperedge of
sample i, and its confidence c_i is the sum of its K largest weights. With C = Hᵀ diag(c) H:

    W_ij = (1 + C_ij) · (HHᵀ)_ij · (HH)_ji      for j ∈ list(i)      ("udlf", the authors' program)
    W_ij = (1 + C_ij) · (HHᵀ)_ij · (HᵀH)_ij     for j ∈ list(i)      ("paper", the published text)
    W_ij = 1 + C_ij                             for j outside that shares a hyperedge with i

Lists are sorted by W; then, walking down the ranks once, the best sample left outside is put in wherever
its W exceeds the W that was sorted to that rank.

Pedronette, Valem, Almeida & Torres, Multimedia retrieval through unsupervised hypergraph-based manifold
ranking, IEEE Transactions on Image Processing 28, 2019.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph.rerank.common import list_matrix, normalize_ranks, row_blocks, settle
from grande_gnn.internal.validation import check_choice, check_integer

__all__ = ["lhrr"]

SMALLEST = np.finfo(np.float64).tiny
"""Less than any candidate's value; 0 is none."""

VARIANTS = ("udlf", "paper")
"""What the authors' program computes, and what they wrote."""


def lhrr(
    lists: ArrayLike, n_neighbors: int = 18, *, n_iterations: int = 2, variant: str = "udlf"
) -> NDArray[np.int32]:
    """Re-rank by hyperedges over the first ``n_neighbors`` of each list (at most its length).

    ``variant`` is one of :data:`VARIANTS`.
    """
    k = check_integer(n_neighbors, name="n_neighbors", low=2)
    check_choice(variant, VARIANTS, name="variant")
    ranked = normalize_ranks(lists)
    k = min(k, ranked.shape[1])
    if k == 1:
        return ranked
    for _ in range(check_integer(n_iterations, name="n_iterations")):
        ranked = _iteration(ranked, k, variant)
    return ranked


def _iteration(lists: NDArray[np.int32], k: int, variant: str) -> NDArray[np.int32]:
    n = len(lists)
    P = list_matrix(lists[:, :k], 1 - np.log(np.arange(1, k + 1)) / np.log(k))
    H = (sp.identity(n, format="csr") + P @ P).tocsr()
    Ht = H.T.tocsr()
    weighted = (sp.diags(_confidence(H, k)) @ H).tocsr()
    second = Ht if variant == "udlf" else H
    # The last of the first K has weight 0 and still belongs to the hyperedge.
    listed = list_matrix(lists[:, :k], 1.0)
    members = (sp.identity(n, format="csr") + listed @ listed).astype(bool).tocsr()
    member_of = members.T.tocsr()
    result = np.empty_like(lists)
    for rows in row_blocks(n):
        C = 1 + (Ht[rows] @ weighted).toarray()
        mine = lists[rows].astype(np.intp)
        W = np.take_along_axis(C, mine, axis=1)
        W *= np.take_along_axis((H[rows] @ Ht).toarray(), mine, axis=1)
        W *= np.take_along_axis((Ht[rows] @ second).toarray(), mine, axis=1)
        outside = (member_of[rows] @ members).toarray()
        np.put_along_axis(outside, mine, False, axis=1)
        result[rows] = _join(mine, settle(W), np.where(outside, settle(C), 0.0))
    return result


def _confidence(H: sp.csr_matrix, k: int) -> NDArray[np.float64]:
    """The sum of the k largest entries of each row."""
    n = H.shape[0]
    row = np.repeat(np.arange(n), np.diff(H.indptr))
    ordered = H.data[np.lexsort((H.data, row))]
    left = H.indptr[1:][row] - np.arange(len(row))  # entries from here to the end of the row
    largest = np.zeros((n, k))
    largest[row[left <= k], k - left[left <= k]] = ordered[left <= k]
    return largest.sum(axis=1)


def _join(lists: NDArray[np.intp], W: NDArray[np.float64], outside: NDArray[np.float64]) -> NDArray[np.intp]:
    """Sort each list by W, itself first, and put in the best from ``outside`` (0 = no candidate)."""
    n_rows, length = lists.shape
    W[:, 0] = np.inf
    order = np.argsort(-W, axis=1, kind="stable")
    inside, W = np.take_along_axis(lists, order, axis=1), np.take_along_axis(W, order, axis=1)
    best, value = _highest(outside, length)
    result = np.empty_like(lists)
    taken = np.zeros(n_rows, dtype=np.intp)
    everyone = np.arange(n_rows)
    for rank in range(length):
        put_in = value[everyone, taken] > W[:, rank]
        result[:, rank] = np.where(put_in, best[everyone, taken], inside[everyone, rank - taken])
        taken += put_in
    return result


def _highest(outside: NDArray[np.float64], length: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The ``length`` highest candidates of each row and their values, filled up with zeros."""
    best = np.zeros((len(outside), length), dtype=np.intp)
    value = np.zeros(best.shape)
    last = max(0, outside.shape[1] - length)
    least = np.maximum(np.partition(outside, last, axis=1)[:, last], SMALLEST)
    row, candidate = np.nonzero(outside >= least[:, None])
    found = outside[row, candidate]
    order = np.lexsort((-found, row))  # stable: ties by sample
    place = np.arange(len(row)) - np.searchsorted(row, row)
    kept = order[place < length]
    at = row[kept], place[place < length]
    best[at], value[at] = candidate[kept], found[kept]
    return best, value
