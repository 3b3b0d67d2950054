"""What runs batches: here, in other processes, or on a Ray cluster. The rows are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.measure import SharedData
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.trials import Batch, DataName

__all__ = ["OnProgress", "Runner", "SharedDatas", "make_runner"]

SharedDatas = Mapping[DataName, SharedData]
"""What the trials of each features file share."""

OnProgress = Callable[[Batch, float, float], object]
"""Called with a batch, the number of its trials trained since the last call, and the seconds that these took one worker."""


class Runner(Protocol):
    """Trains batches, in any order, and yields each with its rows as soon as it is finished."""

    @property
    def cuda(self) -> bool:
        """Whether a batch gets a GPU."""

    def run(
        self, batches: Sequence[Batch], shared: SharedDatas, on_progress: OnProgress
    ) -> Iterator[tuple[Batch, list[Row]]]:
        """Train all batches."""


def make_runner(
    name: str = "local", *, device: str = "auto", jobs: int = 1, address: str | None = None
) -> Runner:
    """The runner of that name, ``"local"`` (with ``jobs`` processes) or ``"ray"`` (the cluster at ``address``)."""
    if name == "ray":
        from grande_gnn.experiments.runners.ray_tasks import RayRunner

        return RayRunner(address, "cuda" if device == "cuda" else "cpu")
    if name == "local":
        from grande_gnn.experiments.runners.local import LocalRunner

        return LocalRunner(device, jobs)
    raise InvalidInputError(f"a runner must be one of local, ray; got {name!r}")
