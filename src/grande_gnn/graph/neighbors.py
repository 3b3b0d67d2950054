"""The nearest neighbors of each sample, which are searched once and used everywhere.

Entry 1 of a list is the sample itself; then come the others by ascending Euclidean distance, ties by index. The first
k entries of a longer list are the list of length k, so graphs, outliers, suggestions and the report share one search.

``backend="auto"`` searches exactly as long as that is predicted to take under a minute, and approximately beyond
(:mod:`grande_gnn.graph.approximate_search`); :attr:`Neighbors.recall` then says how many of the true neighbors were found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph.approximate_search import approximate_lists
from grande_gnn.graph.balltree_search import balltree_lists
from grande_gnn.graph.exact_search import exact_lists, exact_seconds, list_distances, nearest_to_new
from grande_gnn.graph.faiss_search import faiss_lists
from grande_gnn.graph.recall import Recall
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.moved import moved_name
from grande_gnn.internal.validation import check_choice, check_features, check_integer, check_lists

__all__ = ["BACKENDS", "Found", "Neighbors", "SearchBackend", "ranked_lists"]

logger = logging.getLogger(__name__)

Found = NDArray[np.int32] | tuple[NDArray[np.int32], Recall]
"""Exact lists, or approximate ones with their recall."""

SearchBackend = Callable[[NDArray[np.float32], int, torch.device], Found]
"""From features, list length and device to one ranked list per sample."""

PATIENCE = 60.0
"""Seconds that an exact search may be predicted to take before an approximate one replaces it."""

SURELY_FAST = 20_000
"""Up to so many samples, an exact search takes seconds anywhere, and nothing is predicted."""


def _auto(X: NDArray[np.float32], length: int, device: torch.device) -> Found:
    """Exact lists where they take less than a minute."""
    if len(X) > SURELY_FAST:
        seconds = exact_seconds(X, length, device)
        if seconds > PATIENCE:
            logger.info("an exact search would take about %.0f s, so the search is approximate", seconds)
            return BACKENDS["approximate"](X, length, device)
    return BACKENDS["exact"](X, length, device)


BACKENDS: dict[str, SearchBackend] = {
    "auto": _auto,
    "exact": exact_lists,
    "approximate": approximate_lists,
    "faiss": faiss_lists,
    "balltree": lambda X, length, device: balltree_lists(X, length),
}
"""How neighbors are searched, by name."""


class Neighbors:
    """The neighbors of each row of ``features``, searched when they are first needed.

    Parameters
    ----------
    features : array of shape (n_samples, n_features), normalized as the graph needs them.
    backend : a name of :data:`BACKENDS`: ``"auto"``, ``"exact"``, ``"approximate"``, ``"faiss"`` (extra
        ``faiss``) or ``"balltree"``; or a function like those.
    device : where the search runs: ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Examples
    --------
    >>> neighbors = Neighbors([[0.0], [1.0], [3.0]])
    >>> neighbors.lists(2).tolist(), neighbors.distances(2).tolist()
    ([[0, 1], [1, 0], [2, 1]], [1.0, 1.0, 2.0])
    >>> [found.tolist() for found in neighbors.query([[2.5]], 2)]
    [[[2, 1]], [[0.5, 1.5]]]
    """

    def __init__(
        self, features: ArrayLike, *, backend: str | SearchBackend = "auto", device: str = "auto"
    ) -> None:
        self.features = check_features(features)
        self.backend = backend if callable(backend) else check_choice(backend, BACKENDS, name="backend")
        self.device = device
        self.recall: Recall | None = None
        """How many of the true neighbors the lists have; None if they are exact, or not searched here."""
        self._lists: NDArray[np.int32] | None = None
        self._distances: NDArray[np.float64] | None = None

    @classmethod
    def from_lists(cls, features: ArrayLike, lists: ArrayLike, *, device: str = "auto") -> Neighbors:
        """Neighbors that were searched before; a request for longer lists searches again."""
        neighbors = cls(features, device=device)
        neighbors._lists = check_lists(lists, len(neighbors.features))
        return neighbors

    def __len__(self) -> int:
        return len(self.features)

    @property
    def length(self) -> int:
        """How many entries of each list are known so far."""
        return 0 if self._lists is None else self._lists.shape[1]

    def lists(self, k: int) -> NDArray[np.int32]:
        """The first ``k`` entries of each ranked list, the sample itself included; at most all samples."""
        length = min(check_integer(k, name="k", low=1), len(self))
        if self._lists is None or self.length < length:
            device = resolve_device(self.device)
            logger.info("searching the %d nearest neighbors of %d samples on %s", length, len(self), device)
            search = self.backend if callable(self.backend) else BACKENDS[self.backend]
            found = search(self.features, length, device)
            self._lists, self.recall = found if isinstance(found, tuple) else (found, None)
            self._distances = None  # of other lists, if those were approximate
        return self._lists[:, :length]

    def distances(self, k: int) -> NDArray[np.float64]:
        """The distance from each sample to entry ``k`` of its list; infinity if there are fewer samples than that."""
        if len(self) < k:
            return np.full(len(self), np.inf)
        if self._distances is not None and k <= self._distances.shape[1]:
            return self._distances[:, k - 1].copy()
        return self._measured(self.lists(k)[:, k - 1 :])[:, 0]

    def first_distances(self, k: int) -> NDArray[np.float64]:
        """The distances from each sample to the first ``k`` entries of its list, at most all samples; they are kept."""
        lists = self.lists(k)
        if self._distances is None or self._distances.shape[1] < lists.shape[1]:
            self._distances = self._measured(lists)
        return self._distances[:, :k]

    def _measured(self, lists: NDArray[np.int32]) -> NDArray[np.float64]:
        """The distances to the entries of these lists, on the device where they fit."""
        features, device = torch.from_numpy(self.features), resolve_device(self.device)
        if device.type == "cuda" and features.nbytes < torch.cuda.mem_get_info(device)[0] // 2:
            features = features.to(device)
        entries = torch.from_numpy(lists.astype(np.int64)).to(features.device)
        return list_distances(features, entries).cpu().numpy()

    def query(self, new: ArrayLike, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ``k`` nearest of these samples to each new one and their distances; at most all samples."""
        k = min(check_integer(k, name="k", low=1), len(self))
        return nearest_to_new(check_features(new, name="new"), self.features, k)


def ranked_lists(
    features: ArrayLike,
    n_neighbors: int = 200,
    *,
    method: str = "exact",
    device: str = "cpu",
    block_bytes: int | None = None,
) -> NDArray[np.int32]:
    """The ``n_neighbors`` nearest samples of each sample, itself first; at most all samples.

    Parameters
    ----------
    features : array of shape (n_samples, n_features)
    n_neighbors : length of each list, the sample itself included.
    method : ``"exact"`` (blocked matrix products), ``"balltree"`` (scikit-learn's BallTree, as in the paper; the
        same lists, slower above about 30 features), ``"approximate"`` (for very many samples), or ``"auto"`` (exact
        unless that would take more than a minute).
    device : where the products run: ``"auto"``, ``"cpu"`` or ``"cuda"``.
    block_bytes : working memory, None = 256 MiB, or a few GiB of a GPU; the lists do not depend on it.

    Examples
    --------
    >>> ranked_lists([[0.0], [1.0], [3.0]], 2).tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    X = check_features(features)
    length = min(check_integer(n_neighbors, name="n_neighbors", low=1), len(X))
    search = BACKENDS[check_choice(method, BACKENDS, name="method")]
    if block_bytes is not None:
        return exact_lists(X, length, resolve_device(device), block_bytes)
    found = search(X, length, resolve_device(device))
    return found[0] if isinstance(found, tuple) else found


def __getattr__(name: str) -> Any:
    """Names of version 0.1 that have moved."""
    return moved_name(__name__, name)
