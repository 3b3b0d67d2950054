"""The one graph type: undirected, binary, one self-loop per node, rows sorted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_integer

__all__ = ["Graph"]


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph à = A + I in compressed rows (CSR).

    Row ``q`` lists N(q), the neighbors of node q *including q itself*, in ascending order.
    Build one with :meth:`from_edges` or :meth:`from_scipy`: they symmetrize by union, drop
    weights and duplicates, and put exactly one self-loop on each node.

    >>> graph = Graph.from_edges([0, 1], [1, 2], n_nodes=4)
    >>> graph.n_nodes, graph.n_edges, graph.degree.tolist()
    (4, 8, [2, 3, 2, 1])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @classmethod
    def from_edges(cls, sources: ArrayLike, targets: ArrayLike, n_nodes: int) -> Graph:
        """Build from edge end points; directions are ignored, so i→j alone is enough."""
        n_nodes = check_integer(n_nodes, name="n_nodes", low=1)
        rows, cols = np.asarray(sources), np.asarray(targets)
        if rows.ndim != 1 or rows.shape != cols.shape:
            raise InvalidInputError(
                f"edges need two lists of equal length: sources and targets; got shapes {rows.shape} and {cols.shape}"
            )
        if rows.size and (rows.dtype.kind not in "iu" or cols.dtype.kind not in "iu"):
            raise InvalidInputError(f"edges must be integers; got {rows.dtype} and {cols.dtype}")
        if rows.size and (min(rows.min(), cols.min()) < 0 or max(rows.max(), cols.max()) >= n_nodes):
            raise InvalidInputError(
                f"edges must join nodes 0 to {n_nodes - 1}; "
                f"got numbers from {min(rows.min(), cols.min())} to {max(rows.max(), cols.max())}"
            )
        ones = np.ones(
            rows.size, dtype=bool
        )  # a sum of bools cannot overflow, however often an edge is given
        return cls.from_scipy(sp.csr_matrix((ones, (rows, cols)), shape=(n_nodes, n_nodes)))

    @classmethod
    def from_scipy(cls, matrix: Any) -> Graph:
        """Build from the pattern of a square sparse matrix: each stored non-zero is an edge."""
        if not sp.issparse(matrix) or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            shape = getattr(matrix, "shape", None)
            raise InvalidInputError(
                f"a graph must be a square scipy sparse matrix; got {type(matrix).__name__} {shape}"
            )
        if matrix.shape[0] == 0:
            raise InvalidInputError("a graph needs at least one node; got a matrix of shape (0, 0)")
        entries = matrix.tocoo()
        if entries.dtype.kind not in "biufc" or not np.isfinite(entries.data).all():
            raise InvalidInputError(
                f"the weights of a graph must be finite numbers; got {matrix.dtype} with NaN, infinity or no numbers"
            )
        # Integers become flags at once, because a sum of small integers could overflow to 0.
        weights = entries.data != 0 if entries.dtype.kind in "bui" else entries.data
        pattern = sp.csr_matrix((weights, (entries.row, entries.col)), shape=entries.shape)
        pattern.sum_duplicates()
        pattern.data = (pattern.data != 0).astype(np.int8)
        pattern = (pattern + pattern.T + sp.identity(pattern.shape[0], dtype=np.int8, format="csr")).tocsr()
        pattern.eliminate_zeros()
        pattern.sort_indices()
        return cls(pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32))

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """The number of stored entries of Ã: both directions of every edge, and the self-loops."""
        return len(self.indices)

    @property
    def degree(self) -> NDArray[np.int64]:
        """Degree centrality |N(q)|, the node itself included."""
        return np.diff(self.indptr)

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The row of each stored entry, so that ``(rows, indices)`` are the edges q→i."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), self.degree)

    @cached_property
    def _tensors(self) -> dict[torch.device, tuple[torch.Tensor, torch.Tensor]]:
        return {}

    def edges(self, device: torch.device | str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
        """The edges (q, i) as two int64 tensors, self-loops included; they are kept for the next call."""
        key = torch.device(device)
        if key not in self._tensors:
            pair = torch.from_numpy(self.rows).long(), torch.from_numpy(self.indices).long()
            self._tensors[key] = pair[0].to(key), pair[1].to(key)
        return self._tensors[key]

    def to_scipy(self, dtype: Any = np.float32) -> sp.csr_matrix:
        """à as a scipy matrix of ones."""
        ones = np.ones(self.n_edges, dtype=dtype)
        return sp.csr_matrix((ones, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes))

    def reached_from(self, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark each node that has one of the marked ``nodes`` in its connected component."""
        _, component = sp.csgraph.connected_components(self.to_scipy(np.int8), directed=False)
        return np.isin(component, component[nodes])

    def __repr__(self) -> str:
        neighbors = self.n_edges / self.n_nodes - 1
        return f"Graph(n_nodes={self.n_nodes}, mean_neighbors={neighbors:.1f})"
