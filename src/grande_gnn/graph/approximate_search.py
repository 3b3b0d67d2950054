"""Approximate neighbor search: overlapping groups, exact products inside them, then groups of neighbors' neighbors.

1. Partition. Leaders are the centers of a few steps of k-means, and each sample joins its three nearest ones; what is still
   too large is divided again in the same way. Inside a group all pairs are compared by one matrix product, and each sample
   keeps the nearest.
2. Descent. Samples are divided into small groups of near ones. All samples that the members' lists name are
   candidates for every member: the neighbors of my neighbors are probably mine, and a whole group shares one product.

Step 2 is repeated until the recall is high enough, with further partitions where it stops growing. The recall is
measured on random rows (:mod:`.recall`). Every step is a matrix product, a selection or a gather in torch, so the CPU and
CUDA share this code. The work is about n · 10⁴ products instead of n².

On the CPU, these products take most of the time. So both steps first compare the samples in the 96 directions of largest
variance, in lists that are somewhat longer, until those are good. Then each sample is measured in all dimensions against the
entries of its own list only. If that is not enough, descents in all dimensions follow.

Lists are ordered as exact ones: the sample itself, then ascending distance, then index. They depend on the seed and the
device only. Dong, Charikar & Li, WWW 2011 (neighbor descent); Jayaram Subramanya et al., NeurIPS 2019, and later work on
overlapping partitions.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.graph.exact_search import (
    centered_rows,
    partial_squares,
    rounding_unit,
    settle_near_ties,
    squared_norms,
)
from grande_gnn.graph.kept_lists import KeptLists
from grande_gnn.graph.recall import N_CHECKED, Recall, RecallCheck
from grande_gnn.internal.device import float32_products
from grande_gnn.internal.progress import counting

__all__ = ["ENOUGH", "approximate_lists"]

logger = logging.getLogger(__name__)

ENOUGH = 0.95
"""The recall from which on the search stops."""

OVERLAP = 3
"""Groups of a partition that each sample joins."""

LEADERS = 4096
"""Leaders of overlapping groups, at most. Groups of several levels overlap in the first only, and find fewer neighbors;
up to 3.6 million samples one level is enough."""

BRANCHES = 256
"""Leaders of groups that do not overlap; more groups are made in several levels, which is faster and as good."""

PER_LEADER, STEPS = 64, 5
"""Random samples, and steps of k-means, by which each leader is found: around random samples as leaders, neighbors are
separated more often."""

COMPARED = 2**25
"""Distances to leaders that are computed at a time, and distances by which short lists are completed."""

LARGEST = 4000
"""Samples of a group of a partition, at most."""

NEAR_ONES = 400
"""Samples of a group of a descent, at most."""

AT_A_TIME = {"cpu": 512, "cuda": 2**20}
"""Samples of a group that are compared at a time: on the CPU, what is measured stays in the cache."""

NAMED = 40
"""Entries of each member's list that are candidates for the group; longer lists name a third of their entries."""

SKETCH = {"cpu": 96, "cuda": 0}
"""Number of directions in which samples are compared at first; 0: all dimensions from the start."""

SKETCHED_FROM = 10_000
"""Number of random samples from which these directions are computed."""

SPARE = 40
"""Entries by which lists in these directions are longer: near neighbors may look farther away there than others do."""

ROUGH = 0.95
"""The recall in these directions from which on all dimensions are measured."""

MEASURED = 2**13
"""Samples whose own lists are measured at a time."""

MOST_ROUNDS = 16
USUAL_ROUNDS = 4
"""The number of descents that the progress bar assumes."""

SLOW = 0.01
"""A descent that raises the recall by less is followed by a partition, which finds what no list names yet."""


def approximate_lists(
    X: NDArray[np.float32], length: int, device: torch.device, *, enough: float = ENOUGH, seed: int = 0
) -> tuple[NDArray[np.int32], Recall]:
    """One list per row of X, ``length`` entries long, with at least ``enough`` of the true entries, and the recall."""
    with float32_products("ieee", device):
        search = _Search(torch.from_numpy(X).to(device), length, seed)
        search.partition()
        if search.is_rough:
            search.descend_until(ROUGH)
            search.refine()
        search.descend_until(enough)
        search.complete()
        recall = search.recall()
        if recall.value < enough:
            logger.warning(
                "approximate neighbors reached a recall of %s instead of %g; search exactly if that matters", recall, enough
            )  # fmt: skip
        search.advance(
            len(X) * (OVERLAP + MOST_ROUNDS)
        )  # fill the progress bar, however many descents there were
        return search.lists(), recall


class _Search:
    """The nearest known samples of every sample, improved group by group."""

    def __init__(self, exact: torch.Tensor, length: int, seed: int) -> None:
        self.exact, self.length, self.device = exact, length, exact.device
        self.random = torch.Generator().manual_seed(seed)  # on the CPU: the same numbers for every device
        self.all_rows = centered_rows(exact)
        directions = SKETCH[self.device.type]
        self.is_rough = 0 < 2 * directions <= exact.shape[1]
        self.sketch = self._sketched(directions) if self.is_rough else self.all_rows
        self.advance = counting("neighbors", len(exact) * (OVERLAP + USUAL_ROUNDS))
        self._measure_in(self.sketch, min(len(exact), length + SPARE) if self.is_rough else length)

    def _measure_in(self, rows: torch.Tensor, length: int) -> None:
        """Begin empty lists by the distances of these rows."""
        self.rows, self.squares, n = rows, squared_norms(rows), len(rows)
        self.kept = KeptLists(n, length, self.device)
        checked = self._some(n, min(N_CHECKED, n)).sort().values
        self._check = RecallCheck(rows, self.squares, length, checked)

    def _sketched(self, directions: int) -> torch.Tensor:
        """The samples in the directions in which some of them differ most, by subspace iteration."""
        some = self.all_rows[self._some(len(self.all_rows), SKETCHED_FROM)]
        basis = torch.randn(some.shape[1], directions, generator=self.random).to(self.device)
        for _ in range(3):
            basis = torch.linalg.qr(some.T @ (some @ basis)).Q
        return torch.cat([part @ basis for part in self.all_rows.split(2**14)])

    def partition(self) -> None:
        """Compare all pairs inside the groups of a new overlapping partition."""
        for group in self._groups(LARGEST, OVERLAP):
            self._compare(group, group)

    def descend(self) -> None:
        """Compare small groups of near samples with all samples that their lists name."""
        named = max(min(NAMED, self.length), self.length // 3)
        for group in self._groups(NEAR_ONES, 1):
            names = self.kept.found[:, :named].index_select(0, group)
            self._compare(group, names.flatten().unique().long())

    def descend_until(self, enough: float) -> Recall:
        """Repeat descents until the recall is enough, with a new partition where one has hardly raised it."""
        recall, partition_next = self.recall(), False
        for _ in range(MOST_ROUNDS):
            where = "in all dimensions" if self.rows is self.all_rows else "in a few directions"
            logger.info("recall of the %d nearest neighbors %s: %s", self.kept.length - 1, where, recall)
            if recall.value >= enough:
                break
            if partition_next:
                self.partition()
            self.descend()
            before, recall = recall.value, self.recall()
            partition_next = recall.value - before < SLOW
        return recall

    def refine(self) -> None:
        """Measure in all dimensions from here on, beginning with the entries of each rough list."""
        # Near samples name the same ones: one after the other, they find them in the cache.
        rough, order = self.kept.found, torch.cat(list(self._groups(NEAR_ONES, 1)))
        del self.kept  # its distances are not needed beside the new lists
        self._measure_in(self.all_rows, self.length)
        for group in order.split(MEASURED):
            entries = rough.index_select(0, group)
            values = _listed_squares(self.rows, self.squares, group, entries.long())
            self.kept.fill(group, entries, values)
            self.advance(len(group))

    def complete(self) -> None:
        """Search exactly for samples that have met too few others to fill their lists."""
        short = torch.isposinf(self.kept.values[:, -1]).nonzero().flatten()
        side = math.isqrt(COMPARED)
        for group in short.split(side) if len(short) else ():
            for others in torch.arange(len(self.rows), device=self.device).split(side):
                self._compare(group, others)

    def _groups(self, largest: int, overlap: int) -> Iterator[torch.Tensor]:
        yield from self._divided(torch.arange(len(self.rows), device=self.device), largest, overlap)

    def _divided(self, members: torch.Tensor, largest: int, overlap: int) -> Iterator[torch.Tensor]:
        """Divide samples among leaders, the ``overlap`` nearest ones each, until no group is too large."""
        if len(members) <= largest:
            yield members
            return
        wanted = math.ceil(1.5 * overlap * len(members) / largest)
        most = min(LEADERS if overlap > 1 else BRANCHES, len(members) // 2)
        leaders = self._leaders(members, min(most, max(2, wanted)))
        overlap = min(overlap, len(leaders) - 1)
        nearest = torch.cat(
            [_nearest(self.rows[part], leaders, overlap) for part in members.split(COMPARED // len(leaders))]
        ).flatten()
        order = nearest.argsort(stable=True)
        sizes = torch.bincount(nearest, minlength=len(leaders)).tolist()
        for group in members[order // overlap].split(sizes):
            # Equal samples have one nearest leader: they are divided at random.
            if len(group) > 0.9 * len(members):
                mixed = group[self._some(len(group), len(group))]
                yield from mixed.split(largest)
            elif len(group):
                yield from self._divided(group, largest, 1)

    def _leaders(self, members: torch.Tensor, count: int) -> torch.Tensor:
        """The centers of some of these samples, by k-means from random ones; sums in a fixed order, so runs agree."""
        rows = self.rows[members[self._some(len(members), PER_LEADER * count)]]
        leaders = rows[:count]
        for _ in range(STEPS):
            nearest = torch.cat(
                [_nearest(part, leaders, 1) for part in rows.split(COMPARED // count)]
            ).flatten()
            sizes = torch.bincount(nearest, minlength=count)
            means = torch.segment_reduce(
                rows[nearest.argsort(stable=True)], "mean", lengths=sizes, unsafe=True
            )
            leaders = torch.where(sizes[:, None] > 0, means, leaders)
        return leaders

    def _some(self, n: int, count: int) -> torch.Tensor:
        return torch.randperm(n, generator=self.random)[:count].to(self.device)

    def _compare(self, group: torch.Tensor, others: torch.Tensor) -> None:
        """Measure each sample of a group against the others, and keep the nearest of old and new."""
        for part in group.split(AT_A_TIME[self.device.type]):
            values = partial_squares(self.rows, self.squares, part, others)
            self.kept.merge(part, others, values, self.squares[part])
            self.advance(len(part))

    def recall(self) -> Recall:
        """How many of the true entries the lists have by now."""
        return self._check.of_values(self.kept.values[self._check.rows])

    def lists(self) -> NDArray[np.int32]:
        """The lists in canonical order: near-ties of the float32 products are measured again in float64."""
        unit = rounding_unit(self.rows.shape[1])
        lists = np.empty((len(self.rows), self.length), dtype=np.int32)
        for rows in torch.arange(len(self.rows), device=self.device).split(2**14):
            found = self.kept.found[rows].long()
            tolerance = unit * (self.squares[rows, None] + self.squares[found])
            close = self.kept.values[rows].diff(dim=1) <= tolerance[:, 1:] + tolerance[:, :-1]
            settle_near_ties(self.exact, rows, found, close)
            lists[rows[0] : rows[-1] + 1] = found.int().cpu().numpy()
        return lists


def _listed_squares(
    rows: torch.Tensor, squares: torch.Tensor, group: torch.Tensor, entries: torch.Tensor
) -> torch.Tensor:
    """The squared distances from each sample of a group to the entries of its own list, on the CPU.

    A product of which only these places are computed: each dot product reads two rows, and nothing is copied.
    """
    ends = torch.arange(0, entries.numel() + 1, entries.shape[1])
    with warnings.catch_warnings():  # torch warns that its CSR layout is in beta
        warnings.simplefilter("ignore", UserWarning)
        places = torch.sparse_csr_tensor(
            ends,
            entries.flatten(),
            torch.zeros(entries.numel()),
            (len(group), len(rows)),
            check_invariants=False,
        )
    products = torch.sparse.sampled_addmm(places, rows.index_select(0, group), rows.T, beta=0.0).values()
    return (squares[entries] + squares[group, None]).sub_(products.view_as(entries), alpha=2.0)


def _nearest(rows: torch.Tensor, leaders: torch.Tensor, count: int) -> torch.Tensor:
    """The places of the ``count`` nearest leaders of each row."""
    distances = torch.addmm(leaders.square().sum(1), rows, leaders.T, alpha=-2.0)
    return distances.topk(count, largest=False).indices
