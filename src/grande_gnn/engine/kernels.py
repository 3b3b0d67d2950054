"""The engine's graph operations in plain torch: the reference every other kernel is tested against.

All work on (R, n, c): R replicas on one graph. A few replicas at a time are laid out as one
block-diagonal sparse matrix, so that one call of the sparse library serves them all while their
part of H stays in the processor's cache; nothing of size edges × classes is kept.

Each undirected edge {a, b}, a < b, is a *pair*; distances are computed once a pair. Self-loops have
distance 0 and penalty 1 and need no arithmetic.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from grande_gnn.degree import LOG_PENALTY_CAP
from grande_gnn.graph import Graph

__all__ = ["TorchKernels", "penalty_rate"]

_CHUNK_BYTES = 8 * 2**20
"""Size of one chunk of pair differences: about what a core's share of the cache holds."""


class TorchKernels:
    """Neighbour sums, pair distances and their gradients for R replicas on one graph."""

    def __init__(self, graph: Graph, n_replicas: int, n_classes: int, device: torch.device) -> None:
        self.n, self.c, self.R, self.device = graph.n_nodes, n_classes, n_replicas, device
        rows, cols = graph.rows, graph.indices
        upper = rows < cols
        self.n_pairs = int(upper.sum())
        self.count = torch.as_tensor(graph.degree, dtype=torch.float32, device=device)
        pair_of_entry = np.full(graph.n_edges, self.n_pairs, dtype=np.int64)  # self-loops: one past the pairs
        pair_of_entry[upper] = np.arange(self.n_pairs)
        order = np.lexsort((rows[~upper], cols[~upper]))  # (b, a) in the order of (a, b)
        lower = np.flatnonzero(~upper)[order]
        pair_of_entry[lower[rows[lower] != cols[lower]]] = np.arange(self.n_pairs)
        self.pair_of_entry = torch.from_numpy(pair_of_entry).to(device)
        self.left = torch.from_numpy(rows[upper].astype(np.int64)).to(device)
        self.right = torch.from_numpy(cols[upper].astype(np.int64)).to(device)
        self._graph = graph
        per_replica = max(1, self.n_pairs * n_classes * 4)
        self.group = max(1, min(n_replicas, _CHUNK_BYTES // per_replica))
        self._adjacency = {g: self._block_diagonal(g) for g in {self.group, n_replicas % self.group} - {0}}
        self._incidence = {g: self._incidence_blocks(g, per_replica) for g in self._adjacency}

    # -- sparse structure ---------------------------------------------------------------------------

    def _block_diagonal(self, g: int) -> tuple[Tensor, Tensor]:
        """Row pointers and columns of g copies of à along the diagonal."""
        steps = np.arange(g, dtype=np.int64)[:, None]
        pointers = (self._graph.indptr[:-1] + steps * self._graph.n_edges).ravel()
        columns = (self._graph.indices + steps * self.n).ravel()
        index = np.int32 if g * self._graph.n_edges < 2**31 else np.int64
        ends = np.append(pointers, g * self._graph.n_edges).astype(index)
        return torch.from_numpy(ends).to(self.device), torch.from_numpy(columns.astype(index)).to(self.device)

    def _incidence_blocks(self, g: int, per_replica: int) -> list[tuple[slice, Tensor]]:
        """Matrices that turn H into h_a − h_b: g replicas at once, or slices of one replica's pairs."""
        if self.n_pairs == 0:
            return []
        n_slices = 1 if g > 1 else -(-per_replica // _CHUNK_BYTES)
        edges = np.linspace(0, self.n_pairs, n_slices + 1).astype(np.int64)
        left, right = self.left.cpu().numpy(), self.right.cpu().numpy()
        blocks = []
        for a, b in pairwise(edges):
            one = sp.csr_matrix(
                (
                    np.tile(np.array([1, -1], dtype=np.float32), b - a),
                    np.stack([left[a:b], right[a:b]], 1).ravel(),
                    np.arange(0, 2 * (b - a) + 1, 2),
                ),
                shape=(b - a, self.n),
            )
            blocks.append((slice(int(a), int(b)), _csr(sp.block_diag([one] * g, format="csr"), self.device)))
        return blocks

    def _groups(self) -> Iterator[slice]:
        return (slice(a, min(self.R, a + self.group)) for a in range(0, self.R, self.group))

    def _weighted_sum(self, values: Tensor, H: Tensor) -> Tensor:
        """Σ_i value(q, i) h_i for (g, E) values on the entries of Ã."""
        g = len(H)
        if H.is_cuda:  # torch 2.11's CUDA product of such a matrix with several columns was seen to be wrong
            return self._gathered_sum(values, H)
        pointers, columns = self._adjacency[g]
        matrix = _quiet_csr(pointers, columns, values.reshape(-1), (g * self.n, g * self.n))
        return (matrix @ H.reshape(g * self.n, -1)).view(g, self.n, -1)

    def _gathered_sum(self, values: Tensor, H: Tensor) -> Tensor:
        """The same by gather and scatter, a few columns at a time."""
        rows, cols = self._graph.edges(H.device)
        out = torch.zeros_like(H)
        width = max(1, 2**28 // (4 * values.numel()))
        for a in range(0, H.shape[2], width):
            part = slice(a, a + width)
            out[..., part].index_add_(1, rows, values.unsqueeze(-1) * H[:, cols, part])
        return out

    # -- operations -----------------------------------------------------------------------------------

    def neighbour_sum(self, H: Tensor) -> Tensor:
        """ÃH of every replica; à is symmetric, so this is its own gradient."""
        out = torch.empty_like(H)
        for g in self._groups():
            ones = torch.ones(1, device=self.device).expand(H[g].shape[0], self._graph.n_edges)
            out[g] = self._weighted_sum(ones, H[g])
        return out

    def penalty(self, H: Tensor, sigma: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """s(q) of every node, and what its gradient needs: (∂s/∂ρ² without the mean, pair-wise)."""
        square = self._squared_distances(H)
        # min ρ = 0 because of the self-loops, so ρ′² = ρ²/max ρ²; no edge at all, or all equal: ρ′ = 0.
        largest = square.amax(1, keepdim=True) if self.n_pairs else square.new_zeros(self.R, 1)
        rate = penalty_rate(largest, sigma[:, None])
        exponent = square * rate
        inverse_kernel = exponent.clamp_max(LOG_PENALTY_CAP).exp_()
        s = torch.empty(self.R, self.n, device=self.device)
        for g in self._groups():
            entries = _pad(inverse_kernel[g], 1.0)[:, self.pair_of_entry]
            s[g] = self._weighted_sum(entries, H.new_ones(len(entries), self.n, 1)).squeeze(-1)
        slope = inverse_kernel.mul_(rate).masked_fill_(exponent > LOG_PENALTY_CAP, 0.0)
        return s.div_(self.count), (slope, H)

    def penalty_gradient(self, saved: tuple[Tensor, Tensor], gradient: Tensor) -> Tensor:
        """∂loss/∂H from ∂loss/∂s: with w = ∂loss/∂ρ² of each pair, 2(diag(w1) − w)H, a Laplacian."""
        slope, H = saved
        share = gradient / self.count
        weight = slope.mul_(share[:, self.left] + share[:, self.right]).mul_(2)
        out = torch.empty_like(H)
        for g in self._groups():
            entries = _pad(weight[g], 0.0)[:, self.pair_of_entry]
            with_ones = torch.cat([H[g], H.new_ones(len(entries), self.n, 1)], dim=2)
            moved = self._weighted_sum(entries, with_ones)
            torch.addcmul(-moved[..., :-1], moved[..., -1:], H[g], out=out[g])
        return out

    def _squared_distances(self, H: Tensor) -> Tensor:
        """ρ² of every pair, (R, pairs)."""
        out = torch.empty(self.R, self.n_pairs, device=self.device)
        for g in self._groups():
            flat = H[g].reshape(-1, self.c)
            for pairs, incidence in self._incidence[H[g].shape[0]]:
                difference = incidence @ flat
                out[g, pairs] = difference.square_().sum(1).view(out[g, pairs].shape)
        return out


def penalty_rate(largest: Tensor, sigma: Tensor) -> Tensor:
    """What turns ρ² into ρ′²/σ: 1/(max ρ² · σ), or 0 where all outputs are equal.

    The bound touches only distances below 10⁻¹¹, and keeps rate · 10¹² within float32.
    """
    return torch.where(largest > 0, 1 / (largest * sigma), 0.0).clamp_max(1e24)


def _pad(values: Tensor, loop: float) -> Tensor:
    """Append the value of the self-loops as one more pair."""
    return torch.nn.functional.pad(values, (0, 1), value=loop)


def _csr(matrix: sp.csr_matrix, device: torch.device) -> Tensor:
    pointers = torch.from_numpy(matrix.indptr.astype(np.int32))
    columns = torch.from_numpy(matrix.indices.astype(np.int32))
    return _quiet_csr(pointers, columns, torch.from_numpy(matrix.data), matrix.shape).to(device)


def _quiet_csr(pointers: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor without torch's once-a-process notice that the layout is in beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(pointers, columns, values, shape, check_invariants=False)
