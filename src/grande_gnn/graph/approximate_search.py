"""Approximate neighbor search: overlapping groups, exact products inside them, then groups of neighbors' neighbors.

1. Partition. Random samples are leaders, and each sample joins its three nearest ones; what is still too large is divided
   again in the same way. Inside a group all pairs are compared by one matrix product, and each sample keeps the nearest.
2. Descent. Samples are divided into small groups of near ones. All samples that the members' lists name are
   candidates for every member: the neighbors of my neighbors are probably mine, and a whole group shares one product.

Step 2 is repeated until the recall is high enough, with further partitions where it stops growing. The recall is
measured, on random rows whose exact lists are searched: the share of entries that are no farther than the last exact one.
The work is about n · 10⁴ products instead of n². Every step is a matrix product, a selection or a gather in torch, so the
CPU and CUDA share this code.

Lists are ordered as exact ones: the sample itself, then ascending distance, then index. They depend on the seed and the
device only. Dong, Charikar & Li, WWW 2011 (neighbor descent); Jayaram Subramanya et al., NeurIPS 2019, and later work on
overlapping partitions.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.graph.exact_search import centered_rows, rounding_unit, settle_near_ties, squared_norms
from grande_gnn.internal.device import float32_products
from grande_gnn.internal.progress import counting

__all__ = ["ENOUGH", "Recall", "approximate_lists", "recall_of"]

logger = logging.getLogger(__name__)

ENOUGH = 0.95
"""The recall from which on the search stops."""

N_CHECKED = 1000
"""Random rows whose exact lists tell the recall."""

OVERLAP = 3
"""Groups of a partition that each sample joins."""

BRANCHES = 256
"""Leaders that are compared at a time; more groups are made in several levels."""

LARGEST = {"cpu": 2000, "cuda": 4000}
"""Samples of a group of a partition, at most. Larger products pay on a GPU."""

NEAR_ONES = {"cpu": 200, "cuda": 400}
"""Samples of a group of a descent, at most."""

NAMED = 40
"""Entries of each member's list that are candidates for the group; longer lists name a third of their entries."""

MOST_ROUNDS = 16
USUAL_ROUNDS = 4
"""Descents that a progress bar expects."""

SLOW = 0.01
"""A descent that raises the recall by less is followed by a partition, which finds what no list names yet."""


@dataclass(frozen=True)
class Recall:
    """The share of the true neighbors that were found, with its 95 % interval, from ``n`` random rows."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return (
            f"{self.value:.3f} (95 % interval {self.low:.3f} to {self.high:.3f}, from {self.n} random rows)"
        )


def approximate_lists(
    X: NDArray[np.float32], length: int, device: torch.device, *, enough: float = ENOUGH, seed: int = 0
) -> tuple[NDArray[np.int32], Recall]:
    """One list per row of X, ``length`` entries long, with at least ``enough`` of the true entries, and the recall."""
    with float32_products("ieee", device):
        search = _Search(torch.from_numpy(X).to(device), length, seed)
        search.partition()
        recall = search.recall()
        partition_next = False
        for _ in range(MOST_ROUNDS):
            logger.info("recall of the %d nearest neighbors: %s", length - 1, recall)
            if recall.value >= enough:
                break
            if partition_next:
                search.partition()
            search.descend()
            before, recall = recall.value, search.recall()
            partition_next = recall.value - before < SLOW
        if recall.value < enough:
            logger.warning(
                "approximate neighbors reached a recall of %s instead of %g; search exactly if that matters", recall, enough
            )  # fmt: skip
        search.advance(len(X) * (OVERLAP + MOST_ROUNDS))  # whatever was expected, it is done
        return search.lists(), recall


def recall_of(
    X: NDArray[np.float32], lists: NDArray[np.integer], device: torch.device, *, seed: int = 0
) -> Recall:
    """The recall of lists that somebody else made, each sample first in its own."""
    with float32_products("ieee", device):
        rows = centered_rows(torch.from_numpy(X).to(device))
        squares = squared_norms(rows)
        chosen = (
            torch.randperm(len(X), generator=torch.Generator().manual_seed(seed))[:N_CHECKED].sort().values
        )
        check = _Check(rows, squares, lists.shape[1], chosen.to(device))
        entries = torch.from_numpy(lists[chosen.numpy()].astype(np.int64)).to(device)
        inner = (rows[check.rows, None] * rows[entries]).sum(2)
        return check.of_values(squares[entries] - 2 * inner + squares[check.rows, None])


class _Check:
    """Random rows whose exact lists are searched, to see how much of them others find."""

    def __init__(
        self, features: torch.Tensor, squares: torch.Tensor, length: int, rows: torch.Tensor
    ) -> None:
        self.rows, self.length = rows, length
        nearest = torch.empty(len(rows), 0, device=features.device)
        for others in torch.arange(len(features), device=features.device).split(2**15):
            part = _products(features, squares, rows, others)
            part[rows[:, None] == others] = -math.inf
            part = torch.cat([nearest, part], dim=1)
            nearest = part.topk(min(length, part.shape[1]), largest=False, sorted=False).values
        tolerance = rounding_unit(features.shape[1]) * 4 * squares[rows]
        self.farthest = nearest.amax(1) + squares[rows] + tolerance

    def of_values(self, values: torch.Tensor) -> Recall:
        """The share of entries, without the sample itself, that are as near as the exact ones; squared distances."""
        if self.length == 1:
            return Recall(1.0, 1.0, 1.0, len(self.rows))
        shares = (values[:, 1:] <= self.farthest[:, None]).double().mean(1).cpu().numpy()
        value, half = float(shares.mean()), 1.96 * float(shares.std()) / math.sqrt(len(shares))
        return Recall(value, max(0.0, value - half), min(1.0, value + half), len(shares))


def _products(
    rows: torch.Tensor, squares: torch.Tensor, group: torch.Tensor, others: torch.Tensor
) -> torch.Tensor:
    """‖y‖² − 2x·y, which orders the others y of each x by distance."""
    columns = rows.index_select(0, others)
    return torch.addmm(squares[others], rows.index_select(0, group), columns.T, alpha=-2.0)


class _Search:
    """The nearest known samples of every sample, improved group by group."""

    def __init__(self, exact: torch.Tensor, length: int, seed: int) -> None:
        self.exact, self.length, self.device = exact, length, exact.device
        self.rows = centered_rows(exact)
        self.squares = squared_norms(self.rows)
        self.random = torch.Generator().manual_seed(seed)  # on the CPU: the same numbers for every device
        n = len(exact)
        everyone = torch.arange(n, dtype=torch.int32, device=self.device)
        self.found = everyone[:, None].repeat(1, length)
        self.values = torch.full((n, length), math.inf, device=self.device)
        self.values[:, 0] = -math.inf  # the sample itself comes first
        self.advance = counting("neighbors", n * (OVERLAP + USUAL_ROUNDS))
        self._place = torch.full((n,), -1, dtype=torch.int64, device=self.device)
        self._check = _Check(self.rows, self.squares, length, self._some(n, min(N_CHECKED, n)).sort().values)

    def partition(self) -> None:
        """Compare all pairs inside the groups of a new overlapping partition."""
        everyone = torch.arange(len(self.rows), device=self.device)
        for group in self._groups(everyone, LARGEST[self.device.type], OVERLAP):
            self._compare(group, group)
            self.advance(len(group))

    def descend(self) -> None:
        """Compare small groups of near samples with everyone whom their lists name."""
        named = max(min(NAMED, self.length), self.length // 3)
        everyone = torch.arange(len(self.rows), device=self.device)
        for group in self._groups(everyone, NEAR_ONES[self.device.type], 1):
            names = self.found.index_select(0, group)[:, :named]
            self._compare(group, names.flatten().unique().long())
            self.advance(len(group))

    def _groups(self, members: torch.Tensor, largest: int, overlap: int) -> Iterator[torch.Tensor]:
        """Divide samples among random leaders, ``overlap`` nearest ones each, until no group is too large."""
        if len(members) <= largest:
            yield members
            return
        wanted = math.ceil(1.5 * overlap * len(members) / largest)
        leaders = members[self._some(len(members), min(BRANCHES, len(members) // 2, max(2, wanted)))]
        overlap = min(overlap, len(leaders) - 1)
        nearest = torch.cat(
            [
                self._products(part, leaders).topk(overlap, largest=False).indices
                for part in members.split(2**15)
            ]
        ).flatten()
        order = nearest.argsort(stable=True)
        sizes = torch.bincount(nearest, minlength=len(leaders)).tolist()
        for group in members[order // overlap].split(sizes):
            # Equal samples have one nearest leader: they are divided at random.
            if len(group) > 0.9 * len(members):
                mixed = group[self._some(len(group), len(group))]
                yield from mixed.split(largest)
            elif len(group) > 1:
                yield from self._groups(group, largest, 1)

    def _some(self, n: int, count: int) -> torch.Tensor:
        return torch.randperm(n, generator=self.random)[:count].to(self.device)

    def _products(self, group: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        return _products(self.rows, self.squares, group, others)

    def _compare(self, group: torch.Tensor, others: torch.Tensor) -> None:
        """Measure each sample of a group against the others, and keep the nearest of old and new."""
        values = self._products(group, others)
        known = self.found.index_select(0, group)
        self._place[others] = torch.arange(len(others), device=self.device)
        places = self._place[known.long()]
        self._place[others] = -1
        # What a list has already must not be found again; places of −1 name nobody of these others.
        row, column = (places >= 0).nonzero(as_tuple=True)
        values[row, places[row, column]] = math.inf
        new, which = values.topk(min(self.length, len(others)), largest=False, sorted=False)
        new += self.squares[group, None]
        values = torch.cat([self.values.index_select(0, group), new], dim=1)
        entries = torch.cat([known, others[which].int()], dim=1)
        nearest, order = values.topk(self.length, largest=False)
        self.values[group] = nearest
        self.found[group] = entries.gather(1, order)

    def recall(self) -> Recall:
        """How many of the true entries the lists have by now."""
        return self._check.of_values(self.values[self._check.rows])

    def lists(self) -> NDArray[np.int32]:
        """The lists in canonical order: near-ties of the float32 products are measured again in float64."""
        unit = rounding_unit(self.rows.shape[1])
        lists = np.empty((len(self.rows), self.length), dtype=np.int32)
        for rows in torch.arange(len(self.rows), device=self.device).split(2**14):
            found = self.found[rows].long()
            tolerance = unit * (self.squares[rows, None] + self.squares[found])
            close = self.values[rows].diff(dim=1) <= tolerance[:, 1:] + tolerance[:, :-1]
            settle_near_ties(self.exact, rows, found, close)
            lists[rows[0] : rows[-1] + 1] = found.int().cpu().numpy()
        return lists
