"""The recall of neighbor lists: the share of the true neighbors that they have, measured on random rows.

The exact lists of some rows are searched. An entry counts as found if it is no farther than the last exact one, so that it
does not matter which of several equally near samples a list has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.graph.exact_search import centered_rows, partial_squares, rounding_unit, squared_norms
from grande_gnn.internal.device import float32_products

__all__ = ["N_CHECKED", "Recall", "RecallCheck", "recall_of"]

N_CHECKED = 1000
"""Random rows whose exact lists tell the recall."""


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


class RecallCheck:
    """Random rows whose exact lists are searched, to see how much of them others find.

    Parameters
    ----------
    features : all samples, and ``squares`` their squared norms.
    length : entries of each list, the sample itself included.
    rows : the rows whose lists are searched.
    """

    def __init__(
        self, features: torch.Tensor, squares: torch.Tensor, length: int, rows: torch.Tensor
    ) -> None:
        self.rows, self.length = rows, length
        nearest = torch.empty(len(rows), 0, device=features.device)
        for others in torch.arange(len(features), device=features.device).split(2**15):
            part = partial_squares(features, squares, rows, others)
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
        check = RecallCheck(rows, squares, lists.shape[1], chosen.to(device))
        entries = torch.from_numpy(lists[chosen.numpy()].astype(np.int64)).to(device)
        inner = (rows[check.rows, None] * rows[entries]).sum(2)
        return check.of_values(squares[entries] - 2 * inner + squares[check.rows, None])
