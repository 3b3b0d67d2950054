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
"""Clusters if the number of classes is unknown."""

LONGEST = 400
"""Images of a ball that are looked at: the nearest ones."""


def pure_radius(distances: NDArray[np.float64], is_other: NDArray[np.bool_]) -> float:
    """The radius below which 95 % of the balls are pure; infinity if they always are.

    Parameters
    ----------
    distances : from each image to those in its ranked list, ascending.
    is_other : whether these belong to another cluster.
    """
    nearest = np.where(is_other, distances, np.inf).min(axis=1)
    return float(np.quantile(nearest, 1 - PURITY, method="lower"))


def _choose(situation: Situation, n: int) -> Rows:
    from sklearn.cluster import KMeans

    X, lists = situation.neighbors.features, situation.neighbors.lists(LONGEST)
    n_clusters = min(situation.n_classes or N_CLUSTERS, len(X))
    cluster = KMeans(n_clusters, n_init=1, random_state=situation.random_state).fit_predict(X)
    distances = np.stack([np.linalg.norm(X - X[column], axis=1) for column in lists.T], axis=1)
    radius = pure_radius(distances, cluster[lists] != cluster[:, None])
    near = distances < radius
    near[:, 0] = True
    # Small balls often tie, and files are often ordered by class, so ties are broken by chance.
    shuffled = np.random.default_rng(situation.random_state).permutation(len(X))
    place = np.argsort(shuffled)
    rows, entries = np.nonzero(near)
    pairs = (place[rows], place[lists[rows, entries]])
    balls = csr_array((np.ones(len(rows)), pairs), shape=(len(X), len(X)))
    return shuffled[greedy_cover(balls, np.ones(len(X)), situation.known[shuffled], fading=0.0)]


PROBCOVER = Strategy("probcover", "Images whose balls of one radius cover most others.", _choose)
"""Balls of one radius."""
