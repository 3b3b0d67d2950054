"""Batches on this machine: one after the other in this process, or in several processes through joblib."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grande_gnn.errors import GrandeError
from grande_gnn.experiments.measure import SharedData, measure
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.runners.runner import OnProgress, SharedDatas
from grande_gnn.experiments.trials import Batch
from grande_gnn.internal.device import resolve_device

__all__ = ["LocalRunner"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalRunner:
    """Runs batches in this process, with all cores or the GPU, or in ``jobs`` processes of one thread each."""

    device: str = "auto"
    jobs: int = 1
    attempts: int = 3
    """How often lost worker processes are replaced before the run fails."""

    @property
    def cuda(self) -> bool:
        """Whether this machine's GPU is used."""
        return resolve_device(self.device).type == "cuda"

    def run(
        self, batches: Sequence[Batch], shared: SharedDatas, on_progress: OnProgress
    ) -> Iterator[tuple[Batch, list[Row]]]:
        """Train all batches."""
        if self.jobs == 1:
            for batch in batches:
                yield batch, self._here(batch, shared, on_progress)
        else:
            yield from self._processes(batches, shared, on_progress)

    def _here(self, batch: Batch, shared: SharedDatas, on_progress: OnProgress) -> list[Row]:
        last = time.perf_counter()

        def step(trials: float) -> None:
            nonlocal last
            now = time.perf_counter()
            on_progress(batch, trials, now - last)
            last = now

        return measure(shared[batch.data], batch, self.device, step)

    def _processes(
        self, batches: Sequence[Batch], shared: SharedDatas, on_progress: OnProgress
    ) -> Iterator[tuple[Batch, list[Row]]]:
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        left = dict(enumerate(batches))
        for _ in range(self.attempts):
            try:
                for number, rows in self._parallel(left, shared):
                    batch = left.pop(number)
                    on_progress(batch, len(rows), sum(row.seconds for row in rows))
                    yield batch, rows
                return
            except TerminatedWorkerError:
                logger.warning(
                    "a worker process was lost; the %d unfinished batches are run again", len(left)
                )
        raise GrandeError(
            f"worker processes were lost {self.attempts} times, usually because memory ran out: use fewer "
            f"jobs and run again, finished trials are kept; got {len(left)} unfinished batches"
        )

    def _parallel(self, left: dict[int, Batch], shared: SharedDatas) -> Iterator[tuple[int, list[Row]]]:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config("loky", inner_max_num_threads=1):
            yield from Parallel(n_jobs=self.jobs, return_as="generator_unordered", batch_size=1)(
                delayed(_numbered)(number, shared[batch.data], batch, self.device)
                for number, batch in list(left.items())
            )


def _numbered(number: int, data: SharedData, batch: Batch, device: str) -> tuple[int, list[Row]]:
    return number, measure(data, batch, device)
