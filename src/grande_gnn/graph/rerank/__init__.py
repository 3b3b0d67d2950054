"""Unsupervised re-ranking of ranked lists: neighbors of neighbors correct who is near whom.

Each method takes ranked lists (n_samples x length, row i starting with i) and gives back such lists; features
are not needed any more. A graph built from them follows the manifold of the data (Manifold-GCN).

>>> from grande_gnn.graph import ranked_lists, reciprocal_edges
>>> lists = ranked_lists([[0.0], [1.0], [2.1], [9.0], [9.5]], 5)
>>> RERANKERS["cprr"](lists, n_neighbors=3)[0].tolist()
[0, 1, 2, 3, 4]
>>> reciprocal_edges(RERANKERS["lhrr"](lists, n_neighbors=3), 3).degree.tolist()
[3, 3, 3, 2, 2]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from grande_gnn.graph.rerank.bfstree import bfstree
from grande_gnn.graph.rerank.common import normalize_ranks
from grande_gnn.graph.rerank.cprr import cprr
from grande_gnn.graph.rerank.lhrr import lhrr
from grande_gnn.graph.rerank.rdpac import rdpac

__all__ = ["RERANKERS", "bfstree", "cprr", "lhrr", "normalize_ranks", "rdpac"]

RERANKERS: dict[str, Callable[..., NDArray[np.int32]]] = {
    "lhrr": lhrr,
    "rdpac": rdpac,
    "bfstree": bfstree,
    "cprr": cprr,
}
"""The re-rankers by name; each is called with lists."""
