"""One image from each cluster: the one at its center, or the most typical one (TypiClust).

k-means finds as many clusters as there will be labels. Clusters without a labelled image come first, the largest of them
on top, because a label there teaches most. An image is typical if its neighbors are near,

    typicality(i) = 1 / mean distance from i to its 20 nearest neighbors

(Hacohen, Dekel & Weinshall, Active Learning on a Budget: Opposite Strategies Suit High and Low Budgets, ICML 2022).
Clusters depend on how many labels are wanted, so the first images are not the choice for a smaller budget.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from grande_gnn.labelling.strategies.strategy import Rows, Situation, Strategy

__all__ = ["KMEANS", "N_TYPICAL", "TYPICLUST", "mean_distance"]

N_TYPICAL = 20
"""Neighbors that decide how typical an image is, as in the TypiClust paper."""


def mean_distance(situation: Situation, k: int = N_TYPICAL) -> NDArray[np.float64]:
    """The mean distance from each image to its ``k`` nearest others; small for typical images."""
    X, lists = situation.neighbors.features, situation.neighbors.lists(k + 1)
    total = np.zeros(len(X))
    for column in lists.T[1:]:
        total += np.linalg.norm(X - X[column], axis=1)
    return total / max(lists.shape[1] - 1, 1)


def _one_of_each(
    situation: Situation, n: int, badness: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> Rows:
    """The best image of each cluster; ``badness`` is given each image's distance to the center of its cluster."""
    from sklearn.cluster import KMeans

    X, known = situation.neighbors.features, situation.known
    n_clusters = min(n + int(known.sum()), len(X))
    fitted = KMeans(n_clusters, n_init=1, random_state=situation.random_state).fit(X)
    cluster = fitted.labels_
    scores = np.where(known, np.inf, badness(np.linalg.norm(X - fitted.cluster_centers_[cluster], axis=1)))
    size, labelled = (
        np.bincount(cluster, minlength=n_clusters),
        np.bincount(cluster[known], minlength=n_clusters),
    )
    rows = []
    for c in np.lexsort((-size, labelled)):
        mine = np.flatnonzero((cluster == c) & ~known)
        if len(mine):
            rows.append(mine[scores[mine].argmin()])
    others = np.setdiff1d(np.flatnonzero(~known), rows)
    return np.concatenate([np.array(rows, dtype=np.int64), others[np.argsort(scores[others], kind="stable")]])


KMEANS = Strategy(
    "k-means", "The image nearest to the center of each of n clusters.",
    lambda situation, n: _one_of_each(situation, n, lambda to_center: to_center),
)  # fmt: skip
"""Centers of clusters."""

TYPICLUST = Strategy(
    "typiclust", "The most typical image of each of n clusters.",
    lambda situation, n: _one_of_each(situation, n, lambda _: mean_distance(situation)),
)  # fmt: skip
"""Typical images of clusters."""
