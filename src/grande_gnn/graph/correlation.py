"""Rank correlation: how alike the ranked lists of a sample and of its neighbors are.

For two lists x and y cut at depth K let o_t = |x[:t] ∩ y[:t]|, t = 1..K, and let an item that is
absent from a list have position K in it (positions count from 0). 1 is most alike:

    rbo               (1 − p) Σ_t p^(t−1) o_t / t                  identical lists: 1 − p^K
    jaccard           o_K / (2K − o_K)
    jaccard_k         mean_t   o_t / (2t − o_t)
    jaccard_max       max_t    o_t / (2t − o_t)
    jaccard_median    median_t o_t / (2t − o_t)
    intersection      Σ_t o_t / (K(K + 1)/2)
    spearman          1 − Σ_{e ∈ x ∪ y} |pos_x(e) − pos_y(e)| / (K(K + 1))           (footrule)
    kendall           1 − D / (U(U − 1)/2),  U = |x ∪ y|

D counts the pairs of the union that the lists order strictly oppositely, and half of the pairs that one
list leaves undecided because it has neither item. RBO: Webber, Moffat & Zobel, TOIS 2010; footrule and
Kendall distance of top-K lists: Fagin, Kumar & Sivakumar, SIAM J. Discrete Math. 2003.

All are functions of one small table: the position in x of each item of y. It is read from the positions of a
block of rows at a time, on the CPU as many as its cache holds, so the work is O(n·L·K) and needs hardly any memory
beyond the n × L result. Rank-biased overlap is also computed on CUDA, with the same result to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.progress import counting
from grande_gnn.internal.validation import check_choice, check_integer, check_lists

__all__ = [
    "MEASURES",
    "Measure",
    "OnDevice",
    "Scorer",
    "intersection",
    "jaccard",
    "jaccard_k",
    "jaccard_max",
    "jaccard_median",
    "kendall",
    "rank_correlation",
    "rbo",
    "spearman",
]

Positions = NDArray[np.unsignedinteger]
"""``positions[c, t]``: where list x has the item that list y_c has at t; K when x does not have it."""

Scorer = Callable[[Positions], NDArray[np.float64]]
"""From the positions of several lists y_c in one list x to one score per list."""

Measure = Callable[[int], Scorer]
"""From the depth K to the scorer at that depth."""


_TABLE_BYTES = {"cpu": 2**21, "cuda": 2**31}
"""Positions that are kept at a time: what the processor's cache holds, or a small part of a GPU's memory."""

_MOST_ROWS = {"cpu": 64, "cuda": 4096}
"""Samples of one block, at most: each takes length × depth numbers of several types."""


@runtime_checkable
class OnDevice(Protocol):
    """A scorer that can also stay on the device of the positions."""

    def of_tensor(self, positions: torch.Tensor) -> torch.Tensor:
        """One score per list."""
        ...


def rank_correlation(
    lists: ArrayLike,
    depth: int = 40,
    *,
    measure: str | Measure = "rbo",
    rows: ArrayLike | None = None,
    device: str = "cpu",
) -> NDArray[np.float64]:
    """Correlate the list of each sample i with the list of each sample j it names.

    Parameters
    ----------
    lists : ranked lists (n_samples x length), row i starting with i.
    depth : items compared, from the top; at most the length of the lists.
    measure : a name of :data:`MEASURES`, or a function of the depth such as ``partial(rbo, p=0.7)``.
    rows : the samples i wanted; all when ``None``.
    device : where positions are looked up: ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Returns
    -------
    array with one row for each of ``rows`` and one column per list entry: ``[i, c]`` compares the lists of i
    and of ``lists[i, c]``, so column 0 compares a list with itself.

    Examples
    --------
    >>> lists = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    >>> rank_correlation(lists, 2, measure="jaccard").round(3).tolist()
    [[1.0, 1.0, 0.333], [1.0, 1.0, 0.333], [1.0, 0.333, 0.333]]
    """
    entries = check_lists(lists)
    depth = check_integer(depth, name="depth", low=1)
    if depth > entries.shape[1]:
        raise InvalidInputError(
            "depth must not exceed the length of the ranked lists: ask for longer lists or a smaller depth; "
            f"got depth {depth} and lists of length {entries.shape[1]}"
        )
    if isinstance(measure, str):
        measure = MEASURES[check_choice(measure, MEASURES, name="measure")]
    wanted = np.arange(len(entries)) if rows is None else np.asarray(rows)
    return _correlate(entries, depth, measure(depth), wanted, resolve_device(device))


def _correlate(
    lists: NDArray[np.int32], depth: int, scorer: Scorer, wanted: NDArray[np.integer], device: torch.device
) -> NDArray[np.float64]:
    """The scores of the wanted rows, a block at a time; ``table`` has one row per sample of the block."""
    n, length = lists.shape
    entries = torch.from_numpy(lists).to(device)
    kind = torch.uint8 if depth < 256 else torch.int32
    ranks = torch.arange(depth, dtype=kind, device=device)
    absent = torch.full((depth,), depth, dtype=kind, device=device)
    block = max(
        1, min(len(wanted), _TABLE_BYTES[device.type] // (n * ranks.itemsize), _MOST_ROWS[device.type])
    )
    table = torch.full((block, n), depth, dtype=kind, device=device)
    scores = np.empty((len(wanted), length))
    advance = counting("graph", len(wanted))
    for start in range(0, len(wanted), block):
        rows = torch.from_numpy(wanted[start : start + block].astype(np.int64)).to(device)
        positions = table[: len(rows)]
        tops = entries[rows, :depth].long()
        positions.scatter_(1, tops, ranks.expand_as(tops))
        items = entries[entries[rows].long().flatten(), :depth].long().view(len(rows), -1)
        found = _scores(scorer, positions.gather(1, items).view(-1, depth))
        scores[start : start + len(rows)] = found.reshape(len(rows), length)
        positions.scatter_(1, tops, absent.expand_as(tops))
        advance(len(rows))
    return scores


def _scores(scorer: Scorer, positions: torch.Tensor) -> NDArray[np.float64]:
    """One score per row of positions; on the device if the scorer can, in numpy otherwise."""
    if positions.is_cuda and isinstance(scorer, OnDevice):
        return scorer.of_tensor(positions).cpu().numpy()
    return scorer(positions.cpu().numpy())


def rbo(depth: int, *, p: float = 0.9) -> Scorer:
    """Rank-biased overlap, cut at ``depth`` and not extrapolated; a smaller ``p`` looks nearer the top."""
    if not 0 < p < 1:
        raise InvalidInputError(
            f"p of the rank-biased overlap must lie between 0 and 1 (0.9 is usual); got {p!r}"
        )
    t = np.arange(1, depth + 1)
    term = (1 - p) * p ** (t - 1.0) / t
    # An item shared from depth m on adds the terms of m and all after it: one look-up per item.
    # Multiples of 2^-53 add up below 1 without rounding: neither the order of the sum nor of x and y shows.
    return _SharedItems(np.append(np.rint(term[::-1].cumsum()[::-1] * 2.0**53) / 2.0**53, 0.0))


class _SharedItems:
    """Σ of a weight over the items of two lists, by the depth from which on both lists have the item."""

    def __init__(self, weight: NDArray[np.float64]) -> None:
        self.weight, self.ones = weight, np.ones(len(weight) - 1)

    def __call__(self, positions: Positions) -> NDArray[np.float64]:
        return self.weight.take(_shared_from(positions)) @ self.ones  # as a sum, and faster

    def of_tensor(self, positions: torch.Tensor) -> torch.Tensor:
        """The same on the device of the positions."""
        ranks = torch.arange(positions.shape[1], dtype=positions.dtype, device=positions.device)
        weight = torch.from_numpy(self.weight).to(positions.device)
        return weight[torch.maximum(positions, ranks).long()].sum(1)


def jaccard(depth: int) -> Scorer:
    """Jaccard index of the two top-K sets."""
    ones = np.ones(depth, dtype=np.float32)

    def score(positions: Positions) -> NDArray[np.float64]:
        shared = ((positions < depth).astype(np.float32) @ ones).astype(np.float64)  # a sum, and faster
        return shared / (2 * depth - shared)

    return score


def jaccard_k(depth: int) -> Scorer:
    """Mean of the Jaccard indices at depths 1..K."""
    return lambda positions: _jaccards(positions).mean(axis=1)


def jaccard_max(depth: int) -> Scorer:
    """Largest of the Jaccard indices at depths 1..K."""
    return lambda positions: _jaccards(positions).max(axis=1)


def jaccard_median(depth: int) -> Scorer:
    """Median of the Jaccard indices at depths 1..K; of an even K the mean of the two in the middle."""

    def score(positions: Positions) -> NDArray[np.float64]:
        ordered = np.sort(_jaccards(positions), axis=1)  # twice as fast as np.median
        return (ordered[:, (depth - 1) // 2] + ordered[:, depth // 2]) / 2

    return score


def intersection(depth: int) -> Scorer:
    """Overlap summed over depths 1..K, divided by its largest value."""

    def score(positions: Positions) -> NDArray[np.float64]:
        # An item shared from depth m on is counted at m and at every depth after it.
        counted = (depth - _shared_from(positions).astype(np.int64)).sum(axis=1)
        return counted / (depth * (depth + 1) / 2)

    return score


def spearman(depth: int) -> Scorer:
    """Spearman's footrule, turned into a similarity."""
    ranks = np.arange(depth)

    def score(positions: Positions) -> NDArray[np.float64]:
        at = positions.astype(np.int64)
        in_y = np.abs(at - ranks).sum(axis=1)
        only_in_x = depth * (depth + 1) // 2 - (depth - at).sum(axis=1)
        return 1 - (in_y + only_in_x) / (depth * (depth + 1))

    return score


def kendall(depth: int, *, tie: str = "half") -> Scorer:
    """Kendall's tau distance of top-K lists, turned into a similarity.

    ``tie`` says what a pair counts that one of the lists leaves undecided: ``"half"`` or ``"zero"``.
    """
    undecided = {"half": 0.5, "zero": 0.0}[check_choice(tie, ("half", "zero"), name="tie")]

    def score(positions: Positions) -> NDArray[np.float64]:
        at = np.where(positions < depth, positions, 0).sum(axis=1, dtype=np.int64)
        shared = (positions < depth).sum(axis=1)
        alone = depth - shared  # the items that only x has, and as many that only y has
        discordant = (
            _inversions(positions)  # within y: two shared items, or one of y alone before a shared one
            + (at - shared * (shared - 1) // 2)  # within x: an item of x alone before a shared one
            + alone**2  # an item of x alone and one of y alone
            + undecided * alone * (alone - 1)  # two of x alone, two of y alone
        )
        union = 2 * depth - shared
        # K = 1 and equal lists leave no pair to disagree on.
        return 1 - discordant / np.maximum(union * (union - 1) / 2, 1)

    return score


def _shared_from(positions: Positions) -> Positions:
    """The depth, counted from 0, from which on both lists have the item; K when x does not have it."""
    return np.maximum(positions, np.arange(positions.shape[1], dtype=positions.dtype))


def _jaccards(positions: Positions) -> NDArray[np.float64]:
    """o_t / (2t − o_t) for every list and t = 1..K."""
    n_lists, depth = positions.shape
    shelf = _shared_from(positions) + np.arange(n_lists)[:, None] * (depth + 1)
    count = np.bincount(shelf.ravel(), minlength=n_lists * (depth + 1)).reshape(n_lists, depth + 1)
    overlap = count[:, :depth].cumsum(axis=1)
    return overlap / (2 * np.arange(1, depth + 1) - overlap)


def _inversions(positions: Positions) -> NDArray[np.int64]:
    """For every list the number of pairs s < t with position s after position t."""
    columns = np.ascontiguousarray(positions.T)
    total = np.zeros(columns.shape[1], dtype=np.int64)
    # A column of K booleans sums to at most K, which the type of the positions can hold.
    for shift in range(1, len(columns)):
        total += (columns[:-shift] > columns[shift:]).sum(axis=0, dtype=columns.dtype)
    return total


MEASURES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (rbo, jaccard, jaccard_k, jaccard_max, jaccard_median, intersection, spearman, kendall)
}
"""The measures by name; pass any other function of the depth in their place."""
