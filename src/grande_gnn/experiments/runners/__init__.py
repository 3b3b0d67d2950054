"""Where batches are trained: here, in other processes, or on a Ray cluster. The rows are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from grande_gnn.experiments.measure import Material
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.trials import Batch, DataName

__all__ = ["Materials", "OnProgress", "Runner"]

Materials = Mapping[DataName, Material]
"""What the trials of each features file share."""

OnProgress = Callable[[Batch, float, float], object]
"""Told of a batch, how many more of its trials are trained, and the seconds of one worker they took."""


class Runner(Protocol):
    """Trains batches, in whatever order, and yields each with its rows as it is done."""

    @property
    def cuda(self) -> bool:
        """Whether a batch gets a GPU."""

    def run(
        self, batches: Sequence[Batch], materials: Materials, on_progress: OnProgress
    ) -> Iterator[tuple[Batch, list[Row]]]:
        """Train all batches."""
