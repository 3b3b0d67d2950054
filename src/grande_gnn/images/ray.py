"""Extract features on a Ray cluster, for image sets that outgrow one machine.

Ray Data streams numbered tasks through the cluster's cores or GPUs; a task whose worker or node is lost
runs again. The features equal those of the local runner. Every machine must see the image files under the
same path and have the same version of this package; only this machine writes to the store.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grande_gnn.errors import MissingDependencyError
from grande_gnn.images.gpu import FixedBatch
from grande_gnn.images.networks import Extractor
from grande_gnn.images.store import FeatureStore
from grande_gnn.images.workers import Batch, Tasks, run_network
from grande_gnn.internal.cluster import joined_cluster
from grande_gnn.internal.device import DEVICES
from grande_gnn.internal.validation import check_choice

__all__ = ["RayRunner"]

_TASKS_PER_CALL = 8
"""Batches per Ray task: some hundred milliseconds of work, so that the overhead of a task is negligible."""


@dataclass(frozen=True)
class RayRunner:
    """Extracts on the Ray cluster at ``address`` (``host:port``); None starts one on this machine."""

    address: str | None = None

    def __call__(
        self,
        paths: Sequence[Path],
        extractor: Extractor,
        store: FeatureStore,
        device: str,
        workers: int | None,
        thumbnails: bool,
    ) -> Iterator[Batch]:
        """Yield batches with features, in any order; ``auto`` means CPU, ``workers`` limits the parallel tasks."""
        device = "cuda" if check_choice(device, DEVICES, name="device") == "cuda" else "cpu"
        tasks = Tasks(paths, extractor, frozenset(), device, thumbnails)
        if not len(tasks):
            return
        with joined_cluster(self.address) as ray:
            data = _quiet_data()
            work = _Work(ray.put((tasks, extractor)), device)
            numbers = data.range(len(tasks), override_num_blocks=-(-len(tasks) // _TASKS_PER_CALL))
            results = numbers.map_batches(
                work,
                batch_size=_TASKS_PER_CALL,
                num_cpus=1,
                num_gpus=1 if device == "cuda" else None,
                concurrency=workers or None,
            )
            for row in results.iter_rows():
                yield pickle.loads(row["batch"])


def _quiet_data() -> Any:
    """Ray Data without its own progress bars and messages."""
    try:
        import ray.data
    except ImportError as error:
        raise MissingDependencyError(
            f'extraction on a cluster needs Ray Data: pip install "grande-gnn[ray]"; got {error}'
        ) from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    return ray.data


@dataclass(frozen=True)
class _Work:
    """One Ray task: turns some numbered batches into features."""

    shared: Any
    """Reference to the tasks and the extractor, copied to each machine once."""
    device: str

    def __call__(self, block: dict[str, np.ndarray]) -> dict[str, list[bytes]]:
        tasks, network = _fetch(self.shared, self.device)
        batches: Any = (tasks[int(number)] for number in block["id"])
        if network is not None:
            batches = run_network(batches, network)
        return {"batch": [pickle.dumps(batch) for batch in batches]}


@lru_cache(maxsize=1)
def _fetch(shared: Any, device: str) -> tuple[Tasks, FixedBatch | None]:
    """The tasks and the network, fetched once per worker process."""
    import ray

    torch.set_num_threads(1)  # as in the local workers, so that the features are the same
    tasks, extractor = ray.get(shared)
    if device == "cpu":  # the tasks have the network themselves
        return tasks, None
    on = torch.device(device)
    return tasks, FixedBatch(extractor.to(on), on, tasks.batch_size)
