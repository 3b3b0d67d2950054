"""Ranked lists and graphs as ``.npz`` files.

ranked lists  lists (n × L)
graph         indptr (n + 1), indices: the rows of Ã, self-loops included
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError
from grande_gnn.graph.graph import Graph
from grande_gnn.internal.files import naming, write_atomically
from grande_gnn.internal.npz_file import Wanted, read_npz
from grande_gnn.internal.validation import check_lists

__all__ = ["load_graph", "load_lists", "save_graph", "save_lists"]


def load_lists(path: str | os.PathLike[str]) -> NDArray[np.int32]:
    """Read ranked lists."""
    lists = read_npz(path, "ranked lists", {"lists": Wanted("iu", 2)})["lists"]
    with naming(path):
        return check_lists(lists)


def save_lists(path: str | os.PathLike[str], lists: NDArray[np.int32]) -> None:
    """Write ranked lists atomically."""
    write_atomically(path, lambda file: np.savez(file, lists=lists))


def load_graph(path: str | os.PathLike[str]) -> Graph:
    """Read a graph; one that is not symmetric or lacks self-loops is completed."""
    arrays = read_npz(path, "graph", {"indptr": Wanted("iu", 1), "indices": Wanted("iu", 1)})
    indptr, indices = arrays["indptr"], arrays["indices"]
    n = len(indptr) - 1
    if (
        n < 1
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or (indptr[1:] < indptr[:-1]).any()
        or (len(indices) and (indices.min() < 0 or indices.max() >= n))
    ):
        raise FileFormatError(
            f"{path} does not hold a square CSR graph: 'indptr' ascends from 0 to the number of 'indices', which name its "
            f"nodes; got {max(n, 0)} nodes and {len(indices)} indices that do not fit"
        )
    starts = indptr.astype(np.int64)
    rows = np.repeat(np.arange(n), starts[1:] - starts[:-1])
    return Graph.from_edges(rows, indices.astype(np.int64), n)


def save_graph(path: str | os.PathLike[str], graph: Graph) -> None:
    """Write a graph atomically."""
    write_atomically(path, lambda file: np.savez(file, indptr=graph.indptr, indices=graph.indices))
