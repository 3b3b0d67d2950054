"""What the re-rankers share: matrices on ranked lists, products read off at the lists, sorting.

A score matrix is never whole in memory: it is an n × L array aligned with the lists, or a sparse matrix, and
the products of sparse matrices are made a block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from grande_gnn.internal.validation import check_lists

__all__ = ["entries_at", "list_matrix", "normalize_ranks", "product_at", "row_blocks", "settle", "sort_lists"]

_BLOCK_BYTES = 64 * 2**20
"""Memory of one block of rows of a score matrix."""


def list_matrix(lists: NDArray[np.int32], values: ArrayLike) -> sp.csr_matrix:
    """The matrix with ``values`` (one per rank, or one per entry) where ``lists`` points; zeros are stored."""
    n, length = lists.shape
    data = np.broadcast_to(np.asarray(values, dtype=np.float64), lists.shape).ravel()
    return sp.csr_matrix((data, lists.ravel(), np.arange(n + 1) * length), shape=(n, n), copy=True)


def row_blocks(n: int) -> Iterator[slice]:
    """Cut n rows so that a dense block of them fits the memory of a block."""
    step = max(1, _BLOCK_BYTES // (8 * n))
    return (slice(start, min(n, start + step)) for start in range(0, n, step))


def entries_at(lists: NDArray[np.int32], matrix: sp.csr_matrix) -> NDArray[np.float64]:
    """``matrix[i, lists[i, c]]`` for every i and c."""
    return product_at(lists, matrix, sp.identity(len(lists), format="csr"))


def product_at(lists: NDArray[np.int32], left: sp.csr_matrix, right: sp.csr_matrix) -> NDArray[np.float64]:
    """``(left @ right)[i, lists[i, c]]`` for every i and c."""
    out = np.empty(lists.shape)
    for rows in row_blocks(len(lists)):
        block = (left[rows] @ right).toarray()
        out[rows] = np.take_along_axis(block, lists[rows].astype(np.intp), axis=1)
    return out


def settle(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to 12 digits: scores equal but for the rounding of their sums are ties on every machine."""
    mantissa, exponent = np.frexp(scores)
    return np.ldexp(np.round(mantissa, 12), exponent)


def sort_lists(lists: NDArray[np.int32], scores: NDArray[np.float64]) -> NDArray[np.int32]:
    """Sort each list by score, the highest first, ties as before, and swap the sample itself to the front."""
    order = np.argsort(-settle(scores), axis=1, kind="stable")
    result = np.take_along_axis(lists, order, axis=1)
    everyone = np.arange(len(lists))
    here = (result == everyone[:, None]).argmax(axis=1)
    result[everyone, here] = result[:, 0]
    result[:, 0] = everyone
    return result


def normalize_ranks(lists: ArrayLike, weights: ArrayLike | None = None) -> NDArray[np.int32]:
    """Make ranks more mutual: sort each list by f(pos_ij) + f(pos_ji), where f of an absent entry is 0.

    ``weights`` are the values of f by position, L − pos by default.

    >>> normalize_ranks([[0, 2, 1], [1, 0, 3], [2, 3, 1], [3, 2, 1]])[0].tolist()
    [0, 1, 2]
    """
    checked = check_lists(lists)
    length = checked.shape[1]
    values = np.arange(length, 0, -1) if weights is None else np.asarray(weights, dtype=np.float64)
    mutual = values + entries_at(checked, list_matrix(checked, values).T.tocsr())
    return sort_lists(checked, mutual)
