"""The engine's graph operations in plain torch: the reference that every other kernel is tested against.

Arrays of nodes are (n, R, c): the R replicas of a node are stored side by side, so that one pass over the graph moves
long rows for all replicas at once. Nothing of size edges × classes is kept.

Each undirected edge {a, b}, a < b, is a *pair*; a distance is computed once per pair. Self-loops have
distance 0 and penalty 1 and need no arithmetic.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag, pad

from grande_gnn.degree import LOG_PENALTY_CAP
from grande_gnn.graph import Graph

__all__ = ["GATHERED_BYTES", "TorchKernels", "numbered_pairs", "penalty_rate"]

_CHUNK_BYTES = 4 * 2**20
"""Size of one chunk of pair differences: about what the cores' cache holds."""
GATHERED_BYTES = 2**28
"""How much of edges × classes is gathered at once on CUDA, unless one replica needs more."""


def numbered_pairs(graph: Graph) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """The pairs (a, b), a < b, sorted, and for every entry of à the number of its pair (n_pairs for self-loops)."""
    rows, cols = graph.rows, graph.indices
    upper, lower = rows < cols, np.flatnonzero(rows > cols)
    pairs = np.stack([rows[upper], cols[upper]], axis=1)
    pair_of_entry = np.full(graph.n_edges, len(pairs), dtype=np.int64)
    pair_of_entry[upper] = np.arange(len(pairs))
    pair_of_entry[lower[np.lexsort((rows[lower], cols[lower]))]] = np.arange(len(pairs))
    return pairs, pair_of_entry


class _Entries(NamedTuple):
    """The entries of Ã by rows, and the pairs, as :class:`TorchKernels` numbers the nodes."""

    pointers: NDArray[np.integer]
    columns: NDArray[np.integer]
    pair_of_entry: NDArray[np.integer]
    pairs: NDArray[np.integer]

    @classmethod
    def of(cls, graph: Graph) -> _Entries:
        pairs, pair_of_entry = numbered_pairs(graph)
        return cls(graph.indptr, graph.indices, pair_of_entry, pairs)

    def reordered(self, order: NDArray[np.integer]) -> _Entries:
        """The same with node ``order[i]`` as node i; the entries of a row keep their order."""
        place = np.argsort(order)
        counts = np.diff(self.pointers)[order]
        pointers = np.concatenate([[0], np.cumsum(counts)])
        entry = np.repeat(self.pointers[:-1][order] - pointers[:-1], counts) + np.arange(len(self.columns))
        pairs = place[self.pairs]
        sorted_pairs = np.lexsort((pairs.max(axis=1), pairs.min(axis=1)))
        number = np.append(np.argsort(sorted_pairs), len(pairs))  # self-loops stay last
        return _Entries(
            pointers, place[self.columns[entry]], number[self.pair_of_entry[entry]], pairs[sorted_pairs]
        )


class TorchKernels:
    """Neighbor sums, penalties of the pairs and their gradient for R replicas on one graph.

    If there is an ``order``, row i of every array belongs to node ``order[i]``.
    """

    def __init__(
        self,
        graph: Graph,
        n_replicas: int,
        n_classes: int,
        device: torch.device,
        order: NDArray[np.integer] | None = None,
    ) -> None:
        self.n, self.c, self.R, self.device = graph.n_nodes, n_classes, n_replicas, device
        entries = _Entries.of(graph) if order is None else _Entries.of(graph).reordered(order)
        self.n_pairs = len(entries.pairs)
        self.count = torch.as_tensor(np.diff(entries.pointers), dtype=torch.float32, device=device)
        index = np.int32 if n_replicas * graph.n_edges < 2**31 else np.int64
        self.pointers, self.columns, self.pair_of_entry, self.pairs = (
            torch.from_numpy(array.astype(index)).to(device) for array in entries
        )
        self._matrix: tuple[Tensor, Tensor, Tensor] | None = None

    def neighbor_sum(self, H: Tensor) -> Tensor:
        """ÃH of every replica, (n, R, c); à is symmetric, so this is its own gradient."""
        return self._sum_over_neighbors(self.columns, H.reshape(self.n, -1)).view(H.shape)

    def penalty(self, H: Tensor, sigma: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """s(q) of every node, (n, R), and what the backward pass needs: ∂s/∂ρ² of the pairs without the mean, and H."""
        square = self._squared_distances(H)
        # min ρ = 0 because of the self-loops, so ρ′² = ρ²/max ρ². If there is no edge, or all outputs are equal, ρ′ = 0.
        largest = _column_max(square)
        rate = penalty_rate(largest, sigma)
        exponent = square.mul_(rate)
        capped = exponent > LOG_PENALTY_CAP if float(sigma.min()) * LOG_PENALTY_CAP < 1 else None  # ρ′ ≤ 1
        inverse_kernel = (
            exponent.clamp_max_(LOG_PENALTY_CAP).exp_() if capped is not None else exponent.exp_()
        )
        s = self._sum_over_neighbors(self.pair_of_entry, pad(inverse_kernel, (0, 0, 0, 1), value=1.0))
        slope = inverse_kernel.mul_(rate)
        if capped is not None:
            slope.masked_fill_(capped, 0.0)
        return s.div_(self.count[:, None]), (slope, H)

    def penalty_gradient(self, saved: tuple[Tensor, Tensor], gradient: Tensor) -> Tensor:
        """∂loss/∂H from ∂loss/∂s, which is 2(diag(w1) − w)H, a Laplacian with w = ∂loss/∂ρ²; overwrites ``saved``."""
        slope, H = saved
        share = gradient * (2 / self.count[:, None])
        left, right = self.pairs.unbind(1)
        both_ends = share.index_select(0, left).add_(share.index_select(0, right))
        weight = pad(slope.mul_(both_ends), (0, 0, 0, 1))  # nothing flows along a self-loop
        total = self._sum_over_neighbors(self.pair_of_entry, weight)
        return torch.mul(total.unsqueeze(-1), H).sub_(self._weighted_sum(weight, H))

    def _squared_distances(self, H: Tensor) -> Tensor:
        """ρ² of every pair, (pairs, R), a few pairs at a time."""
        rows = H.reshape(self.n, -1)
        out = torch.empty(self.n_pairs, self.R, device=self.device)
        chunk = max(1, min(self.n_pairs, _CHUNK_BYTES // (4 * rows.shape[1])))
        signs = torch.tensor([1.0, -1.0], device=self.device).expand(chunk, 2).contiguous()
        for a in range(0, self.n_pairs, chunk):
            pairs = self.pairs[a : a + chunk]
            difference = embedding_bag(pairs, rows, mode="sum", per_sample_weights=signs[: len(pairs)])
            torch.sum(difference.square_().view(len(pairs), self.R, self.c), -1, out=out[a : a + chunk])
        return out

    def _sum_over_neighbors(self, members: Tensor, table: Tensor) -> Tensor:
        """Σ of ``table[members[e]]`` over the entries e of each row of Ã: the fastest such sum torch has."""
        return embedding_bag(members, table, self.pointers, mode="sum", include_last_offset=True)

    def _weighted_sum(self, weight: Tensor, H: Tensor) -> Tensor:
        """Σ_i w(q, i) h_i of every replica for (pairs + 1, R) weights, as (n, R, c)."""
        if H.is_cuda:  # in torch 2.11, CUDA's product of such a matrix with several columns was wrong
            return self._gathered_sum(weight.index_select(0, self.pair_of_entry), H)
        pointers, columns, places = self._all_replicas()
        side = self.n * self.R
        matrix = _quiet_csr(pointers, columns, weight.view(-1).index_select(0, places), (side, side))
        return (matrix @ H.view(side, -1)).view(H.shape)

    def _gathered_sum(self, values: Tensor, H: Tensor) -> Tensor:
        """The same sum by gather and scatter from the (entries, R) weights, a few replicas at a time."""
        rows = torch.repeat_interleave(self.pointers.diff())
        out = torch.zeros_like(H)
        width = max(1, GATHERED_BYTES // (4 * max(1, len(values) * self.c)))
        for a in range(0, self.R, width):
            part = slice(a, a + width)
            sent = values[:, part].unsqueeze(-1) * H[:, part].index_select(0, self.columns)
            out[:, part].index_add_(0, rows, sent)
        return out

    def _all_replicas(self) -> tuple[Tensor, Tensor, Tensor]:
        """The matrix in which row (q, r) has the entries (i, r) of all neighbors i of q, in CSR format.

        Returns row pointers, columns, and the place of each entry's weight in the (pairs + 1, R) weights.
        """
        if self._matrix is None:
            degree = self.pointers.diff().repeat_interleave(self.R)
            pointers = torch.cat([degree.new_zeros(1), degree.cumsum(0, dtype=degree.dtype)])
            row = torch.repeat_interleave(degree)
            q, r = row // self.R, row % self.R
            entry = (
                self.pointers[q] + torch.arange(len(row), dtype=row.dtype, device=self.device) - pointers[row]
            )
            columns, places = (
                (of_entry[entry] * self.R + r).to(degree.dtype)
                for of_entry in (self.columns, self.pair_of_entry)
            )
            self._matrix = pointers, columns, places
        return self._matrix


def _column_max(x: Tensor, fold: int = 16) -> Tensor:
    """The largest value of each column, at least 0; rows are laid side by side because torch is slow on narrow arrays."""
    whole = len(x) // fold * fold
    beside = x[:whole].view(-1, fold, x.shape[1]).flatten(1)
    parts = [beside.amax(0).view(fold, -1)] if whole else []
    return torch.cat([*parts, x[whole:], x.new_zeros(1, x.shape[1])]).amax(0)


def penalty_rate(largest: Tensor, sigma: Tensor) -> Tensor:
    """The factor from ρ² to ρ′²/σ: 1/(max ρ² · σ), or 0 where all outputs are equal.

    The bound matters only for distances below 10⁻¹¹, and keeps rate · 10¹² within float32.
    """
    return torch.where(largest > 0, 1 / (largest * sigma), 0.0).clamp_max(1e24)


def _quiet_csr(pointers: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor without torch's warning that the layout is in beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(pointers, columns, values, shape, check_invariants=False)
