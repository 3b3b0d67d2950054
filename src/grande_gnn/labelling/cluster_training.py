"""Train and assess, in this process or as a task on a Ray cluster.

On a cluster the training is one task, on a GPU if any machine has one, and the search for neighbors is many tasks
(:mod:`grande_gnn.graph.ray_search`). A task whose worker or node is lost is repeated from its inputs, so only time is
lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.graph.ray_search import RaySearch
from grande_gnn.internal.cluster import fetched, joined_cluster
from grande_gnn.labelling.assess import assess
from grande_gnn.labelling.result import Labelling

__all__ = ["RETRIES", "train_and_assess", "train_on_cluster"]

RETRIES = 5
"""How often a training is repeated if its worker or node is lost."""


def train_and_assess(
    clf: GrandeClassifier,
    features: NDArray[np.float32],
    labels: Any,
    files: Sequence[str],
    graph: Any = None,
    coverage: float | None = None,
    search: Any = "auto",
) -> Labelling:
    """Fit the classifier, which takes over the features, and return its labelling; ``search`` finds the neighbors."""
    fitted = clf.fit(features, labels, graph, search=search, copy=False)
    return assess(fitted, labels, files, coverage=coverage)


def train_on_cluster(
    address: str | None,
    clf: GrandeClassifier,
    features: NDArray[np.float32],
    labels: Any,
    files: Sequence[str],
    graph: Any = None,
    coverage: float | None = None,
) -> Labelling:
    """The same, as a task on the Ray cluster at ``address``; None starts one on this machine."""
    with joined_cluster(address) as ray:
        gpus = int(ray.cluster_resources().get("GPU", 0))
        task = ray.remote(num_cpus=1, num_gpus=min(1, gpus), max_retries=RETRIES)(_task)
        work = ray.put((clf, features, labels, list(files), graph, coverage))
        return fetched(ray, task.remote(work), "the training", RETRIES, kept="features")


def _task(work: tuple[Any, ...]) -> Labelling:
    clf, features, labels, files, graph, coverage = work
    return train_and_assess(clf, features.copy(), labels, files, graph, coverage, RaySearch())
