"""The nearest samples that a search knows so far: each list keeps the nearest of its own entries and of new ones.

A list of length L only takes what is nearer than its last entry. On the CPU that comparison comes first, as it is ten times
as fast as a selection of the L smallest of thousands of numbers, and few numbers are left for the selection. Where a list is
not full yet, the L-th smallest of the minima of disjoint blocks is the bound: L numbers at least do not exceed it.
"""

from __future__ import annotations

import math

import numpy as np
import torch

__all__ = ["KeptLists"]

BLOCKS_PER_ENTRY = 2
"""Blocks whose minima bound the smallest L numbers, per entry; more blocks make the bound tighter and take longer."""


class KeptLists:
    """Lists of ``length`` entries for n samples, ascending by squared distance, each sample first in its own.

    Entries that are not known yet repeat the sample itself at infinite distance.
    """

    def __init__(self, n: int, length: int, device: torch.device) -> None:
        self.length, self.device = length, device
        self.found = torch.arange(n, dtype=torch.int32, device=device)[:, None].repeat(1, length)
        self.values = torch.full((n, length), math.inf, device=device)
        self.values[:, 0] = -math.inf  # the sample itself comes first
        self._place = torch.full((n,), -1, dtype=torch.int32, device=device)

    def fill(self, group: torch.Tensor, entries: torch.Tensor, values: torch.Tensor) -> None:
        """Give a group new lists: the nearest of these entries, each sample first in its own; ``values`` is overwritten.

        The entries of a list must be different, except that it may repeat the sample itself in place of unknown ones.
        """
        values[entries == group[:, None]] = math.inf
        values[:, 0] = -math.inf
        nearest, order = values.topk(self.length, largest=False)
        self.values[group], self.found[group] = nearest, entries.int().gather(1, order)

    def merge(
        self, group: torch.Tensor, others: torch.Tensor, values: torch.Tensor, offset: torch.Tensor
    ) -> None:
        """Offer the samples ``others`` to the lists of a group, at squared distances ``values + offset[:, None]``.

        ``values`` is overwritten; the others must all be different.
        """
        known = self.found.index_select(0, group)
        before = self.values.index_select(0, group)
        self._place[others] = torch.arange(len(others), dtype=torch.int32, device=self.device)
        places = self._place[known]
        self._place[others] = -1
        # What a list has already must not be found again; places of −1 name nobody of these others, and change nothing.
        again = torch.where(places >= 0, math.inf, -math.inf)
        values.scatter_reduce_(1, places.clamp_min(0).long(), again, "amax")
        if self.device.type == "cpu":
            new, which = _below(values, _bounds(values, before[:, -1] - offset, self.length))
        else:
            new, which = values.topk(min(self.length, len(others)), largest=False, sorted=False)
        new += offset[:, None]
        nearest, order = torch.cat([before, new], dim=1).topk(self.length, largest=False)
        found = torch.cat([known, others.int()[which]], dim=1).gather(1, order)
        if torch.isposinf(nearest[:, -1]).any():  # what fills up the new ones is nobody's entry
            found = torch.where(torch.isposinf(nearest), group[:, None].int(), found)
        self.values[group], self.found[group] = nearest, found


def _bounds(values: torch.Tensor, last: torch.Tensor, length: int) -> torch.Tensor:
    """What a number must be below to be among the smallest ``length`` of its row and of the list that ends at ``last``."""
    columns = values.shape[1]
    if not torch.isposinf(last).any() or columns < 2 * BLOCKS_PER_ENTRY * length:
        return last
    blocks = BLOCKS_PER_ENTRY * length
    minima = values[:, : columns // blocks * blocks].unflatten(1, (-1, blocks)).amin(1)
    smallest = minima.kthvalue(length, dim=1).values
    return torch.minimum(last, torch.nextafter(smallest, torch.full_like(smallest, math.inf)))


def _below(values: torch.Tensor, bounds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers of each row below its bound and their columns, one row each, filled up with infinity."""
    n_rows, n_columns = values.shape
    flat = torch.from_numpy(np.flatnonzero((values < bounds[:, None]).numpy()))
    row = flat // n_columns
    counts = torch.bincount(row, minlength=n_rows)
    place = torch.arange(len(flat)) - (counts.cumsum(0) - counts)[row]
    shape = (n_rows, int(counts.max()))
    numbers, columns = torch.full(shape, math.inf), torch.zeros(shape, dtype=torch.int64)
    numbers[row, place] = values.flatten()[flat]
    columns[row, place] = flat - row * n_columns
    return numbers, columns
