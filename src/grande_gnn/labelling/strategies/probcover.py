"""ProbCover: cover as many images as possible with balls of one radius around the labelled ones.

The radius δ is the largest for which 95 % of the balls hold images of one cluster only, the clusters being those of k-means
with as many clusters as there are classes (Yehuda, Dekel, Hacohen & Weinshall, Active Learning Through a Covering Lens,
NeurIPS 2022). Then, greedily, the image is taken whose ball holds most images that are in no labelled image's ball yet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from grande_gnn.labelling.strategies.greedy import greedy_cover
from grande_gnn.labelling.strategies.strategy import Rows, Situation, Strategy

__all__ = ["PROBCOVER", "pure_radius"]

PURITY = 0.95
"""Share of the balls that must be pure."""

N_CLUSTERS = 20
"""Clusters where the number of classes is unknown."""

LONGEST = 400
"""Images of a ball that are looked at: the nearest ones."""


def pure_radius(distances: NDArray[np.float64], is_other: NDArray[np.bool_]) -> float:
    """The largest radius for which 95 % of the balls are pure.

    Parameters
    ----------
    distances : from each image to those in its ranked list, ascending.
    is_other : whether these belong to another cluster.
    """
    first = np.where(is_other.any(axis=1), is_other.argmax(axis=1), distances.shape[1] - 1)
    until = distances[np.arange(len(distances)), np.maximum(first - is_other.any(axis=1), 0)]
    return float(np.quantile(until, 1 - PURITY))


def _choose(situation: Situation, n: int) -> Rows:
    from sklearn.cluster import KMeans

    X, lists = situation.neighbors.features, situation.neighbors.lists(LONGEST)
    n_clusters = min(situation.n_classes or N_CLUSTERS, len(X))
    cluster = KMeans(n_clusters, n_init=1, random_state=situation.random_state).fit_predict(X)
    distances = np.stack([np.linalg.norm(X - X[column], axis=1) for column in lists.T], axis=1)
    radius = pure_radius(distances, cluster[lists] != cluster[:, None])
    near = distances <= radius
    near[:, 0] = True
    rows, places = np.nonzero(near)
    balls = csr_array((np.ones(len(rows)), (rows, lists[rows, places])), shape=(len(X), len(X)))
    return greedy_cover(balls, np.ones(len(X)), situation.known, fading=0.0)


PROBCOVER = Strategy("probcover", "Images whose balls of one radius cover most others.", _choose)
"""Balls of one radius."""
