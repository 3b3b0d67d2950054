"""Exact neighbor search by blocked matrix products.

The canonical order is: the sample itself, then ascending float64 distance, then index.

A blocked float32 product gives ‖x‖² + ‖y‖² − 2x·y for a block of rows against all samples, and the smallest
L + margin of each row are kept. Float32 can only confuse values closer than its rounding error, so those runs, and
only those, are measured again as Σ(x − y)² in float64. A row whose cut may have been confused is measured again as
a whole. New samples are few, so their search runs in float64 from the start.
"""

from __future__ import annotations

import math
import time

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.internal.device import float32_products
from grande_gnn.internal.progress import counting

__all__ = [
    "MARGIN",
    "centered_rows",
    "exact_lists",
    "exact_seconds",
    "list_distances",
    "nearest_to_new",
    "pair_distances",
    "partial_squares",
    "rounding_unit",
    "settle_near_ties",
    "squared_norms",
]

_ROWS = 2**14
"""Samples per block where all of them are passed in float64."""
_ENTRIES = 2**23
"""Float64 numbers of one block in the search for new samples: 64 MiB."""
_PROBED = 2**15
"""Samples from which the time of a search is predicted."""
MARGIN = 16
"""Candidates kept beyond the list, so that most near-ties at its end are settled at once."""


def exact_lists(
    X: NDArray[np.float32],
    length: int,
    device: torch.device,
    block_bytes: int | None = None,
    *,
    rows: range | None = None,
) -> NDArray[np.int32]:
    """The canonical list of each row of X, or of consecutive ``rows`` of it, ``length`` entries long.

    ``block_bytes`` bounds the working memory (None: 256 MiB, or a few GiB of a GPU); the lists do not depend on it.
    """
    block_bytes = block_bytes or _default_block_bytes(device)
    n, d = X.shape
    exact = torch.from_numpy(X).to(device)
    centered = centered_rows(exact)
    squares = squared_norms(centered)
    unit = rounding_unit(d)
    keep = min(n, length + MARGIN)
    wanted = range(n) if rows is None else rows
    lists = np.empty((len(wanted), length), dtype=np.int32)
    block = max(1, min(n, block_bytes // (12 * n)))
    transposed = centered.T.contiguous()
    advance = counting("neighbors", len(wanted))
    with float32_products("ieee", device):  # neighbors are exact whatever the training precision is
        for start in wanted[::block]:
            part = torch.arange(start, min(wanted.stop, start + block), device=device)
            values = torch.addmm(squares, centered[part], transposed, alpha=-2.0)
            values += squares[part, None]
            values[torch.arange(len(part), device=device), part] = -math.inf
            values, found = values.topk(keep, largest=False)
            # Whatever lies nearer than v has ‖y‖² ≤ 2(‖x‖² + v), which bounds the error of what was cut.
            reach = 2 * unit * (3 * squares[part] + 2 * values[:, -1].clamp_min(0))
            cut = (values[:, -1] - values[:, length - 1] <= reach) & (keep < n)
            if cut.any():
                found[cut] = _whole_rows(exact, part[cut], keep)
            tolerance = unit * (squares[part, None] + squares[found])
            close = values.diff(dim=1) <= tolerance[:, 1:] + tolerance[:, :-1]
            close[cut] = False
            settle_near_ties(exact, part, found, close)
            lists[start - wanted.start : start - wanted.start + len(part)] = (
                found[:, :length].int().cpu().numpy()
            )
            advance(len(part))
    return lists


def exact_seconds(X: NDArray[np.float32], length: int, device: torch.device) -> float:
    """How long :func:`exact_lists` would take, predicted from a small part of its products and selections."""
    n = len(X)
    some = torch.from_numpy(X[:_PROBED]).to(device)
    probes, keep = some[: max(1, _PROBED // 64)], min(len(some), length + MARGIN)
    fastest = math.inf
    with float32_products("ieee", device):
        for _ in range(3):  # the first call may also load libraries
            start = time.perf_counter()
            (probes @ some.T).topk(keep, largest=False)[0][0, 0].item()
            fastest = min(fastest, time.perf_counter() - start)
    return fastest * (n / len(probes)) * (n / len(some))


def rounding_unit(d: int) -> float:
    """The relative rounding error that a float32 product of length d is trusted to stay below.

    It grows like √d·u (Higham & Mary, 2019). Seen on real and hostile data: at most 0.43 √d u (‖x‖² + ‖y‖²).
    """
    return (8 + math.sqrt(d) / 2) * torch.finfo(torch.float32).eps


def partial_squares(
    rows: torch.Tensor, squares: torch.Tensor, group: torch.Tensor, others: torch.Tensor
) -> torch.Tensor:
    """‖y‖² − 2x·y, which orders the others y of each x by distance; with ‖x‖² it is the squared distance."""
    columns = rows.index_select(0, others)
    return torch.addmm(squares[others], rows.index_select(0, group), columns.T, alpha=-2.0)


def squared_norms(rows: torch.Tensor) -> torch.Tensor:
    """‖x‖² of each row, summed in float64."""
    return torch.cat([(part.double() ** 2).sum(1).float() for part in rows.split(_ROWS)])


OUTLYING = 100.0
"""A sample this many times as far from the mean as the median sample has no part in the mean."""


def centered_rows(exact: torch.Tensor) -> torch.Tensor:
    """The samples around their mean, divided by a power of two.

    Centering shortens the vectors, and with them the rounding error of the expansion; the power of two brings
    them near 1, so that no square leaves the range of float32. Samples far from all others are left out of the mean,
    which they would move away from all others.
    """
    blocks = exact.split(_ROWS)
    mean = torch.stack([rows.sum(0, dtype=torch.float64) for rows in blocks]).sum(0) / len(exact)
    far = torch.cat([(rows - mean).abs().amax(1) for rows in blocks])
    near = far <= OUTLYING * far.median()
    if not near.all():
        sums = [
            rows[chosen].sum(0, dtype=torch.float64)
            for rows, chosen in zip(blocks, near.split(_ROWS), strict=True)
        ]
        mean = torch.stack(sums).sum(0) / near.sum()
        far = torch.cat([(rows - mean).abs().amax(1) for rows in blocks])
    most = far.max().item()
    scale = 2.0 ** -math.frexp(most)[1]
    centered = torch.empty_like(exact)
    for rows, out in zip(blocks, centered.split(_ROWS), strict=True):
        out.copy_((rows - mean) * scale)
    return centered


def settle_near_ties(
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
    """Euclidean distances of the pairs (left, right) in float64, in blocks; ``right`` indexes ``others`` if given."""
    others = features if others is None else others
    # On the CPU a block stays in the cache; on a GPU it is large enough to keep it busy.
    block_bytes = 256 * 2**20 if features.is_cuda else 2 * 2**20
    block = max(1, block_bytes // (16 * features.shape[1]))
    pieces = [
        (features[a].double() - others[b].double()).square_().sum(1).sqrt_()
        for a, b in zip(left.split(block), right.split(block), strict=True)
    ]
    return torch.cat(pieces) if pieces else torch.empty(0, dtype=torch.float64, device=features.device)


def list_distances(features: torch.Tensor, lists: torch.Tensor) -> torch.Tensor:
    """The float64 distance from each sample to each entry of its list, in blocks of samples."""
    block_bytes = 256 * 2**20 if features.is_cuda else 2 * 2**20
    block = max(1, block_bytes // (8 * features.shape[1] * (lists.shape[1] + 1)))
    return torch.cat(
        [
            (features[entries].double() - rows.double()[:, None]).square_().sum(2).sqrt_()
            for rows, entries in zip(features.split(block), lists.split(block), strict=True)
        ]
    )


def _default_block_bytes(device: torch.device) -> int:
    """A modest block; on a GPU a larger one, since every block reads all features again."""
    if device.type != "cuda":
        return 256 * 2**20
    return min(4 * 2**30, torch.cuda.mem_get_info(device)[0] // 4)


def nearest_to_new(
    new: NDArray[np.float32], features: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The ``k`` nearest rows of ``features`` to each new row, and their distances, by distance and then index."""
    keep = min(len(features), k + MARGIN)
    reference = torch.from_numpy(features)
    everyone = torch.arange(len(features))
    n_columns = features.shape[1]
    step = max(1, min(_ROWS, _ENTRIES // max(1, n_columns)))
    center = sum(rows.sum(0, dtype=torch.float64) for rows in reference.split(step)) / len(features)
    squares = torch.empty(len(features), dtype=torch.float64)
    for rows, out in zip(reference.split(step), squares.split(step), strict=True):
        torch.sum((rows.double() - center).square_(), dim=1, out=out)
    found_rows = np.empty((len(new), k), dtype=np.int64)
    distances = np.empty((len(new), k))
    block = max(1, _ENTRIES // max(step, keep, n_columns))
    for start in range(0, len(new), block):
        x = torch.from_numpy(new[start : start + block])
        moved = x.double() - center
        values, found = _smallest(moved, reference, center, squares, keep, step)
        near, distance = _nearest_of(x, reference, found, k)
        # Where more than were kept may be tied at the end of the list, only measuring everyone is sure.
        error = 1e-12 * (moved.square().sum(1) + squares.max())
        unsure = (values[:, -1] - values[:, k - 1] <= error) & (keep < len(features))
        for row in unsure.nonzero().flatten().tolist():
            near[row], distance[row] = _nearest_of(x[row : row + 1], reference, everyone[None], k)
        found_rows[start : start + len(x)], distances[start : start + len(x)] = near, distance
    return found_rows, distances


def _smallest(
    moved: torch.Tensor,
    reference: torch.Tensor,
    center: torch.Tensor,
    squares: torch.Tensor,
    keep: int,
    step: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The ``keep`` smallest ‖y‖² − 2x·y of each centered new row x, ascending, and whose they are.

    ``step`` rows of the reference at a time are float64, as all of them would take twice the memory of the features.
    """
    values = torch.empty(len(moved), 0, dtype=torch.float64)
    found = torch.empty(len(moved), 0, dtype=torch.int64)
    for start in range(0, len(reference), step):
        centered = reference[start : start + step].double().sub_(center)
        these = torch.addmm(squares[start : start + step], moved, centered.T, alpha=-2)
        these, places = these.topk(min(keep, len(centered)), largest=False)
        both, whose = torch.hstack([values, these]), torch.hstack([found, places + start])
        values, order = both.topk(min(keep, both.shape[1]), largest=False)
        found = whose.gather(1, order)
    return values, found


def _nearest_of(
    x: torch.Tensor, reference: torch.Tensor, candidates: torch.Tensor, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k nearest of each row's candidates and their distances, by distance and then index."""
    left = torch.arange(len(x)).repeat_interleave(candidates.shape[1])
    distance = pair_distances(x, left, candidates.flatten(), reference).view_as(candidates).numpy()
    order = np.lexsort((candidates.numpy(), distance), axis=1)[:, :k]
    return np.take_along_axis(candidates.numpy(), order, 1), np.take_along_axis(distance, order, 1)
