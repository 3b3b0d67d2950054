"""Batches on a Ray cluster: features and graphs are put into the object store once, and lost tasks are retried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grande_gnn.experiments.measure import measure
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.runners.runner import OnProgress, SharedDatas
from grande_gnn.experiments.trials import Batch
from grande_gnn.internal.cluster import fetched, joined_cluster

__all__ = ["RayRunner"]


@dataclass(frozen=True)
class RayRunner:
    """Runs batches as tasks of one core each (one GPU each with ``device="cuda"``) on the cluster at ``address``.

    Without an address, a cluster on this machine is started, and stopped at the end. All machines of a cluster need the same
    version of this package; files are read on this machine only.
    """

    address: str | None = None
    device: str = "cpu"
    retries: int = 5
    """How often Ray repeats a task whose worker or node was lost."""

    @property
    def cuda(self) -> bool:
        """Whether a task gets a GPU of the cluster."""
        return self.device == "cuda"

    def run(
        self, batches: Sequence[Batch], shared: SharedDatas, on_progress: OnProgress
    ) -> Iterator[tuple[Batch, list[Row]]]:
        """Train all batches."""
        with joined_cluster(self.address) as ray:
            # An object is copied to a node once and shared by all workers there.
            stored = {name: ray.put(data) for name, data in shared.items()}
            task = ray.remote(num_cpus=1, num_gpus=int(self.cuda), max_retries=self.retries)(measure)
            pending = {task.remote(stored[batch.data], batch, self.device): batch for batch in batches}
            while pending:
                ready, _ = ray.wait(list(pending))
                batch = pending.pop(ready[0])
                rows = fetched(ray, ready[0], "a batch of trials", self.retries, kept="finished trials")
                on_progress(batch, len(rows), sum(row.seconds for row in rows))
                yield batch, rows
