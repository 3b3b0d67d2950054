"""Ranked lists: for each sample all others by Euclidean distance, nearest first, exactly.

The canonical order is: the sample itself, then ascending float64 distance, then index.

Method: a blocked float32 product gives ‖x‖² + ‖y‖² − 2x·y for a block of rows against all
samples, and the smallest L + margin of each row are kept. Float32 can only confuse
values closer than its rounding error, so those runs, and only those, are measured again as
Σ(x − y)² in float64. A row whose cut may have been confused is measured again whole.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from grande_gnn.internal.device import float32_products
from grande_gnn.internal.validation import check_choice, check_features, check_integer

__all__ = ["pair_distances", "ranked_lists"]

_ROWS = 2**14
"""Samples at a time where all are passed in float64."""
_MARGIN = 16
"""Candidates kept beyond the list, so that most near-ties at its end are settled at once."""


def ranked_lists(
    features: ArrayLike,
    n_neighbors: int = 200,
    *,
    method: str = "exact",
    device: str = "cpu",
    block_bytes: int | None = None,
) -> NDArray[np.int32]:
    """The ``n_neighbors`` nearest samples of each sample, itself first; at most all samples.

    Parameters
    ----------
    features : array of shape (n_samples, n_features)
    n_neighbors : length of each list, the sample itself counted.
    method : ``"exact"`` (blocked matrix products) or ``"balltree"`` (scikit-learn's BallTree, as
        in the paper; the same lists, slower above about 30 features).
    device : where the products run, ``"cpu"`` or ``"cuda"``.
    block_bytes : working memory, None = 256 MiB, or a few GiB of a GPU; the lists do not depend on it.

    Examples
    --------
    >>> ranked_lists([[0.0], [1.0], [3.0]], 2).tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    X = check_features(features)
    length = min(check_integer(n_neighbors, name="n_neighbors", low=1), len(X))
    if check_choice(method, ("exact", "balltree"), name="method") == "balltree":
        return _balltree_lists(X, length)
    on = torch.device(device)
    return _exact_lists(X, length, on, block_bytes or _default_block_bytes(on))


def _default_block_bytes(device: torch.device) -> int:
    """A modest block; on a GPU a larger one, since every block reads all features again."""
    if device.type != "cuda":
        return 256 * 2**20
    return min(4 * 2**30, torch.cuda.mem_get_info(device)[0] // 4)


def _exact_lists(
    X: NDArray[np.float32], length: int, device: torch.device, block_bytes: int
) -> NDArray[np.int32]:
    n, d = X.shape
    exact = torch.from_numpy(X).to(device)
    centred = _centred(exact)
    squares = torch.cat([(rows.double() ** 2).sum(1).float() for rows in centred.split(_ROWS)])
    # The rounding error of a length-d float32 product grows like √d·u (Higham & Mary, 2019). Seen on
    # real and hostile data: at most 0.43 √d u (‖x‖² + ‖y‖²).
    unit = (8 + math.sqrt(d) / 2) * torch.finfo(torch.float32).eps
    keep = min(n, length + _MARGIN)
    lists = np.empty((n, length), dtype=np.int32)
    block = max(1, min(n, block_bytes // (12 * n)))
    transposed = centred.T.contiguous()
    with float32_products("ieee", device):  # neighbours are exact whatever the training precision is
        for start in range(0, n, block):
            rows = torch.arange(start, min(n, start + block), device=device)
            values = torch.addmm(squares, centred[rows], transposed, alpha=-2.0)
            values += squares[rows, None]
            values[torch.arange(len(rows), device=device), rows] = -math.inf
            values, found = values.topk(keep, largest=False)
            # Whatever lies nearer than v has ‖y‖² ≤ 2(‖x‖² + v), which bounds the error of what was cut.
            reach = 2 * unit * (3 * squares[rows] + 2 * values[:, -1].clamp_min(0))
            cut = (values[:, -1] - values[:, length - 1] <= reach) & (keep < n)
            if cut.any():
                found[cut] = _whole_rows(exact, rows[cut], keep)
            tolerance = unit * (squares[rows, None] + squares[found])
            close = values.diff(dim=1) <= tolerance[:, 1:] + tolerance[:, :-1]
            close[cut] = False
            _settle_near_ties(exact, rows, found, close)
            lists[start : start + len(rows)] = found[:, :length].int().cpu().numpy()
    return lists


def _centred(exact: torch.Tensor) -> torch.Tensor:
    """The samples around their mean, divided by a power of two.

    Centring shortens the vectors, and with them the rounding error of the expansion; the power of two brings
    them near 1, so that no square leaves the range of float32.
    """
    blocks = exact.split(_ROWS)
    mean = torch.stack([rows.sum(0, dtype=torch.float64) for rows in blocks]).sum(0) / len(exact)
    most = max((rows - mean).abs().max().item() for rows in blocks)
    scale = 2.0 ** -math.frexp(most)[1]
    centred = torch.empty_like(exact)
    for rows, out in zip(blocks, centred.split(_ROWS), strict=True):
        out.copy_((rows - mean) * scale)
    return centred


def _settle_near_ties(
    exact: torch.Tensor, rows: torch.Tensor, found: torch.Tensor, close: torch.Tensor
) -> None:
    """Reorder, in place, each run of entries ``close`` to the next by float64 distance, then index."""
    touched = torch.zeros_like(found, dtype=torch.bool)
    touched[:, 1:] |= close
    touched[:, :-1] |= close
    row, column = touched.nonzero(as_tuple=True)
    if len(row) == 0:
        return
    starts_run = torch.ones_like(found, dtype=torch.bool)
    starts_run[:, 1:] = ~close
    run = starts_run.flatten().cumsum(0).view_as(found)[row, column]
    entry = found[row, column]
    distance = pair_distances(exact, rows[row], entry)
    order = np.lexsort([key.cpu().numpy() for key in (entry, distance, run)])
    found[row, column] = entry[torch.from_numpy(order).to(entry.device)]


def _whole_rows(exact: torch.Tensor, rows: torch.Tensor, keep: int) -> torch.Tensor:
    """The canonical list of each row, measured in float64 against every sample."""
    everyone = torch.arange(len(exact), device=exact.device)
    out = []
    for row in rows.tolist():
        distance = pair_distances(exact, torch.full_like(everyone, row), everyone)
        distance[row] = -1.0
        out.append(distance.sort(stable=True).indices[:keep])
    return torch.stack(out)


def pair_distances(
    features: torch.Tensor, left: torch.Tensor, right: torch.Tensor, others: torch.Tensor | None = None
) -> torch.Tensor:
    """Euclidean distances of the given pairs in float64, in blocks; ``right`` counts in ``others``, if there are any."""
    others = features if others is None else others
    # On the CPU a block stays in the cache; on a GPU it is large enough to keep it busy.
    block_bytes = 256 * 2**20 if features.is_cuda else 2 * 2**20
    block = max(1, block_bytes // (16 * features.shape[1]))
    pieces = [
        (features[a].double() - others[b].double()).square_().sum(1).sqrt_()
        for a, b in zip(left.split(block), right.split(block), strict=True)
    ]
    return torch.cat(pieces) if pieces else torch.empty(0, dtype=torch.float64, device=features.device)


def _balltree_lists(X: NDArray[np.float32], length: int) -> NDArray[np.int32]:
    """The same lists from scikit-learn's BallTree, put into the canonical order."""
    from sklearn.neighbors import BallTree

    n = len(X)
    tree = BallTree(X, leaf_size=200)
    lists = np.empty((n, length), dtype=np.int32)
    pending, keep = np.arange(n), min(n, length + _MARGIN)
    while len(pending):
        distance, found = tree.query(X[pending], k=keep)
        distance = distance.copy()
        distance[found == pending[:, None]] = -1.0
        order = np.lexsort((found, distance), axis=1)
        distance = np.take_along_axis(distance, order, axis=1)
        found = np.take_along_axis(found, order, axis=1)
        # A list is settled when its own entry is there and its last value is not tied with the cut.
        settled = (found[:, 0] == pending) & (distance[:, length - 1] < distance[:, -1])
        settled |= keep == n
        lists[pending[settled]] = found[settled, :length]
        pending, keep = pending[~settled], min(n, 2 * keep)
    return lists
