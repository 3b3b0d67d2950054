"""Ranked lists and graphs as files.

ranked lists  .npz with lists (n × L)
graph         .npz with indptr (n + 1) and indices, the rows of Ã, and perhaps data, their weights: what
              ``scipy.sparse.save_npz`` writes of a CSR matrix; or with edges (m × 2) and perhaps weights (m);
              or a table of edges (.csv, .tsv, .txt; see :mod:`grande_gnn.graph.edge_table`)

A graph is completed as the method needs it: directions are taken by union, parallel edges count once, every node has
exactly one self-loop, and samples that no edge names have no neighbors. An edge of weight 0 is left out. Weights that
differ are refused unless they are ignored, because the degree counts and compares neighbors and cannot use weights.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.graph.edge_table import read_edge_table
from grande_gnn.graph.graph import Graph
from grande_gnn.internal.files import naming, write_atomically
from grande_gnn.internal.npz_file import Wanted, read_npz
from grande_gnn.internal.validation import check_lists

__all__ = ["load_graph", "load_lists", "save_graph", "save_lists"]

_TABLES = (".csv", ".tsv", ".txt")
_ARRAYS = {
    "indptr": Wanted("iu", 1, required=False),
    "indices": Wanted("iu", 1, required=False),
    "data": Wanted("fiu", 1, required=False),
    "edges": Wanted("iu", 2, required=False),
    "weights": Wanted("fiu", 1, required=False),
}
_CSR = {name: Wanted("iu", 1) for name in ("indptr", "indices")}


def load_lists(path: str | os.PathLike[str]) -> NDArray[np.int32]:
    """Read ranked lists."""
    lists = read_npz(path, "ranked lists", {"lists": Wanted("iu", 2)})["lists"]
    with naming(path):
        return check_lists(lists)


def save_lists(path: str | os.PathLike[str], lists: NDArray[np.int32]) -> None:
    """Write ranked lists atomically."""
    write_atomically(path, lambda file: np.savez(file, lists=lists))


def load_graph(
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    n_nodes: int | None = None,
    ignore_weights: bool = False,
) -> Graph:
    """Read a graph; one that is not symmetric or lacks self-loops is completed.

    Parameters
    ----------
    path : the file; see above.
    names : the names of the samples, by which a table may name the ends of its edges.
    n_nodes : the number of samples, which a list of edges cannot tell, because some may have none. None: that of ``names``.
    ignore_weights : use the edges of a weighted graph alone.
    """
    known = len(names) if names is not None else n_nodes
    if os.fspath(path).lower().endswith(_TABLES):
        if not os.path.isfile(path):
            raise FileFormatError(f"no such graph file: check the path; got {path}")
        table = read_edge_table(path, _told(known), names)
        return _joined(path, table.sources, table.targets, table.weights, known, ignore_weights)
    arrays = read_npz(path, "graph", _ARRAYS)
    if "edges" in arrays and not arrays.keys() & _CSR.keys():
        edges = arrays["edges"]
        if edges.shape[1] != 2:
            raise FileFormatError(
                f"{path}: 'edges' must be a matrix with two columns; got shape {edges.shape}"
            )
        return _joined(path, edges[:, 0], edges[:, 1], arrays.get("weights"), known, ignore_weights)
    if not arrays.keys() >= _CSR.keys():
        read_npz(path, "graph", _CSR)  # raises, naming what is missing and what is there
    return _from_rows(path, arrays, ignore_weights)


def _from_rows(path: Any, arrays: dict[str, NDArray[Any]], ignore_weights: bool) -> Graph:
    """The graph of compressed rows."""
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
    return _joined(path, rows, indices, arrays.get("data"), n, ignore_weights)


def _joined(
    path: Any,
    sources: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any] | None,
    n_nodes: int | None,
    ignore_weights: bool,
) -> Graph:
    """The graph of these edges, those of weight 0 left out."""
    if weights is not None:
        is_edge = _edges_of(path, weights, len(sources), ignore_weights)
        sources, targets = sources[is_edge], targets[is_edge]
    with naming(path):
        return Graph.from_edges(sources.astype(np.int64), targets.astype(np.int64), _told(n_nodes))


def _told(n_nodes: int | None) -> int:
    if n_nodes is None:
        raise InvalidInputError(
            "a list of edges cannot tell how many samples there are: pass n_nodes or names; got neither"
        )
    return n_nodes


def _edges_of(path: Any, weights: NDArray[Any], n_edges: int, ignore_weights: bool) -> NDArray[np.bool_]:
    """Which edges count: those whose weight is not 0; weights that say more are refused unless they are ignored."""
    if len(weights) != n_edges or not np.isfinite(weights).all():
        raise FileFormatError(
            f"the weights in {path} must be one finite number per edge: {n_edges} edges; got {len(weights)} weights, "
            f"{int((~np.isfinite(weights)).sum())} of them not finite"
        )
    is_edge = weights != 0
    kept = weights[is_edge]
    if kept.size and not ignore_weights and (kept.min() != kept.max() or kept.min() < 0):
        raise InvalidInputError(
            f"the edges in {path} have weights, which the degree cannot use: use the edges without them with "
            f"--ignore-weights (ignore_weights=True); got weights from {kept.min():g} to {kept.max():g}"
        )
    return is_edge


def save_graph(path: str | os.PathLike[str], graph: Graph) -> None:
    """Write a graph atomically."""
    write_atomically(path, lambda file: np.savez(file, indptr=graph.indptr, indices=graph.indices))
