"""Ranked lists and graphs as ``.npz`` files.

ranked lists  lists (n × L)
graph         indptr (n + 1), indices: the rows of Ã, self-loops included
"""

from __future__ import annotations

import os

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError
from grande_gnn.graph.graph import Graph
from grande_gnn.internal.files import naming, read_npz, write_atomically
from grande_gnn.internal.validation import check_lists

__all__ = ["load_graph", "load_lists", "save_graph", "save_lists"]


def load_lists(path: str | os.PathLike[str]) -> NDArray[np.int32]:
    """Read ranked lists."""
    lists = read_npz(path, "ranked lists", needs=("lists",))["lists"]
    with naming(path):
        return check_lists(lists)


def save_lists(path: str | os.PathLike[str], lists: NDArray[np.int32]) -> None:
    """Write ranked lists atomically."""
    write_atomically(path, lambda file: np.savez(file, lists=lists))


def load_graph(path: str | os.PathLike[str]) -> Graph:
    """Read a graph; one that is not symmetric or lacks self-loops is completed."""
    arrays = read_npz(path, "graph", needs=("indptr", "indices"))
    indptr, indices = arrays["indptr"], arrays["indices"]
    try:
        if (
            not all(array.ndim == 1 and array.dtype.kind in "iu" for array in (indptr, indices))
            or len(indptr) < 2
        ):
            raise TypeError(
                f"arrays of shape {indptr.shape} and {indices.shape}, {indptr.dtype} and {indices.dtype}"
            )
        n = len(indptr) - 1
        matrix = sp.csr_matrix((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(n, n))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise FileFormatError(f"{path} does not hold a square CSR graph; got {error}") from None
    return Graph.from_scipy(matrix)


def save_graph(path: str | os.PathLike[str], graph: Graph) -> None:
    """Write a graph atomically."""
    write_atomically(path, lambda file: np.savez(file, indptr=graph.indptr, indices=graph.indices))
