"""Greedy maximum coverage: choose, again and again, the image that covers most of what is not covered yet.

    gain(i) = Σ over j covered by i of w(j),     w(j) ← fading · w(j) for all j that the chosen image covers

The greedy choice covers at least 1 − 1/e of what the best choice of as many images covers (Nemhauser,
Wolsey & Fisher, 1978). The first images of the order are the choice for a budget of that many images.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from grande_gnn.labelling.strategies.strategy import Rows

__all__ = ["greedy_cover"]


def greedy_cover(
    covers: csr_array,
    weights: NDArray[np.float64],
    known: NDArray[np.bool_],
    *,
    fading: float,
    n: int | None = None,
) -> Rows:
    """Unlabelled images in the order in which they are chosen; ties go to the lower index.

    Parameters
    ----------
    covers : entry (i, j) is 1 if image i covers image j.
    weights : how much it is worth to cover each image.
    known : which images are labelled; what they cover has faded already.
    fading : what is left of an image's weight each time it is covered. When no weight is left, all start again.
    n : how many are wanted; None: all. The others follow by what they would still gain.

    Examples
    --------
    >>> chain = csr_array(np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]))
    >>> greedy_cover(chain, np.ones(4), np.zeros(4, dtype=bool), fading=0.0).tolist()
    [1, 3, 0, 2]
    """
    covered_by = covers.tocsc()
    weight = np.asarray(weights, dtype=np.float64).copy()
    for row in np.flatnonzero(known).tolist():
        weight[_entries(covers, row)] *= fading
    gain = _gains(covers, weight, known)
    nothing = 1e-9 * float(np.max(weights, initial=0.0))
    is_chosen = known.copy()
    order: list[int] = []
    for _ in range(min(len(weight) - int(known.sum()), len(weight) if n is None else n)):
        if gain.max() <= nothing:
            weight = np.asarray(weights, dtype=np.float64).copy()
            gain = _gains(covers, weight, is_chosen)
        best = int((gain >= gain.max() - nothing).argmax())
        order.append(best)
        is_chosen[best] = True
        covered = _entries(covers, best)
        lost = (1 - fading) * weight[covered]
        weight[covered] -= lost
        for j, loss in zip(covered.tolist(), lost.tolist(), strict=True):
            gain[_entries(covered_by, j)] -= loss
        gain[best] = -np.inf
    others = np.flatnonzero(~is_chosen)
    last = others[np.argsort(-gain[others], kind="stable")]
    return np.concatenate([np.array(order, dtype=np.int64), last])


def _gains(
    covers: csr_array, weight: NDArray[np.float64], is_chosen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    return np.where(is_chosen, -np.inf, covers @ weight)


def _entries(matrix: csr_array, row: int) -> NDArray[np.int32]:
    """The columns of a row of a CSR matrix, or the rows of a column of a CSC matrix."""
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
