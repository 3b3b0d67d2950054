"""RDPAC: rank-based diffusion process with assured convergence.

W[i, r_i(t)] = p^t for the first K of each list, columns normalized; P starts as W, and repeatedly

    P ← columns normalized;   P_ij ← Σ_m P_im W_jm  for j among the first L of i;   P ← 0.95 P + 0.05 I

Finally the columns are normalized once more and lists of 2L entries are sorted by P(PP), each product
taken on the lists only.

Pedronette, Valem & Latecki, Efficient rank-based diffusion process with assured convergence, Journal of
Imaging 7(3), 2021. Their program computes the last product in place, entry after entry, and so mixes old
and new values; here it is the product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph.rerank.common import list_matrix, normalize_ranks, product_at, sort_lists
from grande_gnn.internal.validation import check_integer, check_lists, check_real

__all__ = ["rdpac"]

_KEPT = 0.95
"""The share of P that each step keeps; the rest is the identity."""


def rdpac(
    lists: ArrayLike, n_neighbors: int = 15, *, n_iterations: int = 15, p: float = 0.6, p_long: float = 0.99
) -> NDArray[np.int32]:
    """Re-rank by diffusion along the first ``n_neighbors`` of each list.

    The diffusion is kept on the first half of the lists (L); the final products reach all of it (2L).
    ``p`` and ``p_long`` say how fast weights decay with the rank, in W and in the rank normalization.
    """
    ranked = check_lists(lists)
    half = max(1, ranked.shape[1] // 2)
    k = min(check_integer(n_neighbors, name="n_neighbors", low=1), half)
    n_iterations = check_integer(n_iterations, name="n_iterations")
    p = check_real(p, name="p", low=0.0, high=1.0, open_low=True)
    p_long = check_real(p_long, name="p_long", low=0.0, high=1.0, open_low=True)

    decay = np.where(np.arange(ranked.shape[1]) < half, p_long ** np.arange(1, ranked.shape[1] + 1), 0.0)
    ranked = normalize_ranks(ranked, decay)
    near, tops = ranked[:, :half], ranked[:, :k].astype(np.intp)
    start = np.broadcast_to(p ** np.arange(1, k + 1), tops.shape)
    W = _columns_to_one(tops, start)
    P = np.zeros(near.shape)
    P[:, :k] = start
    for _ in range(n_iterations):
        P = _KEPT * _diffuse(near, _columns_to_one(near, P), tops, W)
        P[:, 0] += 1 - _KEPT  # every list starts with the sample itself: the diagonal
    last = list_matrix(near, _columns_to_one(near, P))
    twice = list_matrix(ranked, product_at(ranked, last, last))
    return sort_lists(ranked, product_at(ranked, last, twice))


def _columns_to_one(lists: NDArray[np.integer], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide the entries of one sample by their sum, which its own list keeps above 0."""
    total = np.bincount(lists.ravel(), weights=values.ravel(), minlength=len(lists))
    return values / total[lists]


def _diffuse(
    near: NDArray[np.int32], P: NDArray[np.float64], tops: NDArray[np.intp], W: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ_m P_im W_jm for j in ``near[i]``, one row at a time: K look-ups per entry."""
    out = np.empty_like(P)
    line = np.zeros(len(near))
    for row, others in enumerate(near):
        line[others] = P[row]
        np.einsum("jm,jm->j", line.take(tops.take(others, axis=0)), W.take(others, axis=0), out=out[row])
        line[others] = 0.0
    return out
