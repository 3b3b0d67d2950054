"""Add rows to the samples, and find rows among them; two rows are equal if all their bytes are."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_features

__all__ = ["matching_rows", "with_context"]


def with_context(
    X: NDArray[np.float32], codes: NDArray[np.int64], context: ArrayLike | None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """X and its label codes, followed by the rows of ``context`` that are not in X; these have no label (−1)."""
    if context is None:
        return X, codes
    more = check_features(context, name="context") + np.float32(0)
    if more.shape[1] != X.shape[1]:
        raise InvalidInputError(f"context must have as many columns as X, {X.shape[1]}; got {more.shape[1]}")
    left = Counter(row.tobytes() for row in X)  # if X holds a row twice, its third copy in context is added
    extra = []
    for row in more:
        extra.append(left[row.tobytes()] <= 0)
        left[row.tobytes()] -= 1
    more = more[extra]
    return np.vstack([X, more]), np.concatenate([codes, np.full(len(more), -1)])


def matching_rows(rows: NDArray[np.float32], among: NDArray[np.float32]) -> NDArray[np.int64]:
    """For each row the position of the first identical row in ``among``, or −1."""
    # The rows of ``among`` may fill the memory: the bytes of a row are kept only if it may be one of ``rows``.
    wanted = {hash(row.tobytes()) for row in rows}
    place: dict[bytes, int] = {}
    for i, row in enumerate(among):
        if hash(row.tobytes()) in wanted:
            place.setdefault(row.tobytes(), i)
    return np.array([place.get(row.tobytes(), -1) for row in rows], dtype=np.int64)
