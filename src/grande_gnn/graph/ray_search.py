"""Neighbor search on a Ray cluster: every task searches the exact lists of some rows, and a lost task is repeated.

The features are copied to each machine once. Lists are canonical, so they are those of a search on one machine, whatever
the number of tasks. Where even the whole cluster would take more than a minute, one task searches approximately instead, on
a GPU if the cluster has one.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.graph.approximate_search import approximate_lists
from grande_gnn.graph.exact_search import exact_lists, exact_seconds
from grande_gnn.graph.recall import Recall
from grande_gnn.internal.cluster import fetched, joined_cluster
from grande_gnn.internal.device import resolve_device

__all__ = ["RaySearch"]

logger = logging.getLogger(__name__)

PATIENCE = 60.0
"""Seconds that the cluster may be predicted to take for exact lists."""

ROWS = 20_000
"""Rows of a task, at most: some seconds of work, so that little is lost with a worker."""

Found = NDArray[np.int32] | tuple[NDArray[np.int32], Recall]


@dataclass(frozen=True)
class RaySearch:
    """A backend of :class:`~grande_gnn.graph.Neighbors`: the cluster at ``address``; None starts one on this machine."""

    address: str | None = None
    retries: int = 5
    """How often a task is repeated whose worker or node was lost."""

    def __call__(self, X: NDArray[np.float32], length: int, device: torch.device) -> Found:
        with joined_cluster(self.address) as ray:
            resources = ray.cluster_resources()
            cpus, gpus = int(resources.get("CPU", 1)), int(resources.get("GPU", 0))
            # A task has one core, so the time of one core is what the cores share.
            seconds = _seconds_of_one_core(X, length) / max(1, cpus)
            stored = ray.put(X)
            if seconds > PATIENCE:
                logger.info(
                    "an exact search would take the cluster about %.0f s, so the search is approximate",
                    seconds,
                )
                search = ray.remote(num_cpus=1, num_gpus=min(1, gpus), max_retries=self.retries)(_approximate)
                return fetched(ray, search.remote(stored, length), "a search for neighbors", self.retries)
            rows_of_task = max(1, min(ROWS, -(-len(X) // max(1, cpus))))
            search = ray.remote(num_cpus=1, max_retries=self.retries)(_exact_rows)
            pending = [
                search.remote(stored, length, start, min(len(X), start + rows_of_task))
                for start in range(0, len(X), rows_of_task)
            ]
            return np.concatenate(
                [fetched(ray, task, "a search for neighbors", self.retries) for task in pending]
            )


def _seconds_of_one_core(X: NDArray[np.float32], length: int) -> float:
    threads = torch.get_num_threads()
    return exact_seconds(X, length, torch.device("cpu")) * threads


def _exact_rows(X: NDArray[np.float32], length: int, start: int, stop: int) -> NDArray[np.int32]:
    torch.set_num_threads(1)
    return exact_lists(np.array(X), length, torch.device("cpu"), rows=range(start, stop))


def _approximate(X: NDArray[np.float32], length: int) -> tuple[NDArray[np.int32], Recall]:
    return approximate_lists(np.array(X), length, resolve_device("auto"))
