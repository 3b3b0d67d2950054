"""Approximate neighbor search by faiss's HNSW index, an alternative to :mod:`.approximate_search` (extra ``faiss``).

Malkov & Yashunin, IEEE TPAMI 2020. The search looks at ever more candidates until the measured recall is high enough. The
index is built by several threads in no fixed order, so two runs may differ; with one thread they do not.
"""

from __future__ import annotations

import logging

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.errors import MissingDependencyError
from grande_gnn.graph.approximate_search import ENOUGH
from grande_gnn.graph.recall import Recall, recall_of

__all__ = ["faiss_lists"]

logger = logging.getLogger(__name__)

LINKS, WHILE_BUILDING = 32, 80
"""Links of each sample, and candidates looked at while the index is built (faiss's own value is 40)."""

CANDIDATES = (64, 128, 256, 512, 1024)
"""Candidates looked at while searching, tried in this order."""


def faiss_lists(
    X: NDArray[np.float32], length: int, device: torch.device, *, enough: float = ENOUGH
) -> tuple[NDArray[np.int32], Recall]:
    """One list per row of X, ``length`` entries long, itself first, and the recall."""
    try:
        import faiss
    except ImportError:
        raise MissingDependencyError(
            'the search by faiss needs: pip install "grande-gnn[faiss]"; got no module faiss'
        ) from None
    faiss.omp_set_num_threads(torch.get_num_threads())
    index = faiss.IndexHNSWFlat(X.shape[1], LINKS)
    index.hnsw.efConstruction = max(WHILE_BUILDING, length)
    index.add(X)
    for candidates in CANDIDATES:
        index.hnsw.efSearch = max(candidates, length)
        lists = _itself_first(index.search(X, length)[1])
        recall = recall_of(X, lists, device)
        logger.info("faiss looks at %d candidates: recall %s", candidates, recall)
        if recall.value >= enough:
            break
    return lists, recall


def _itself_first(found: NDArray[np.int64]) -> NDArray[np.int32]:
    """Move each sample to the front of its own list; what faiss did not fill (−1) repeats the sample itself."""
    everyone = np.arange(len(found))[:, None]
    found = np.where(found < 0, everyone, found)
    order = np.argsort(found != everyone, axis=1, kind="stable")
    lists = np.take_along_axis(found, order, axis=1)
    missing = lists[:, 0] != everyone[:, 0]  # copies of a sample may have taken its place
    lists[missing] = np.hstack([everyone[missing], lists[missing, :-1]])
    return lists.astype(np.int32)
