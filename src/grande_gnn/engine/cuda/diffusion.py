"""The diffusion of all replicas on CUDA: the same as :class:`~grande_gnn.engine.cpu.diffusion.TorchHops`, fused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
import triton
from torch import Tensor

from grande_gnn.degree import LOG_PENALTY_CAP
from grande_gnn.engine.cpu.diffusion import sigmas_and_uses
from grande_gnn.engine.cpu.kernels import numbered_pairs, penalty_rate
from grande_gnn.engine.cuda.adam import Trained, TritonAdam
from grande_gnn.engine.cuda.kernels import graph_kernels as kernels
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Replica, Settings
from grande_gnn.engine.trainable import Diffusion, Head
from grande_gnn.graph import Graph

__all__ = ["TritonDiffusion", "TritonHops"]

_AT_ONCE = 4
"""Neighbors read together, so that their loads overlap."""


class TritonHops:
    """Degree and K ≥ 1 hops; all large arrays are allocated here, once."""

    def __init__(
        self,
        graph: Graph,
        replicas: Sequence[Replica],
        n_classes: int,
        settings: Settings,
        device: torch.device,
    ) -> None:
        self.n, self.R, self.c = graph.n_nodes, len(replicas), n_classes
        self.K, self.alpha = settings.hops, settings.teleport
        self._load_graph(graph, device)
        self.sigma, self.uses = sigmas_and_uses(replicas, device)
        self.uses_degree = bool(self.uses.any())
        self.learns_degree = self.uses_degree and not settings.detach
        self.rho = torch.zeros(self.n_pairs + 1, self.R, device=device)  # the last row: self-loops
        self.rate = torch.zeros(self.R, device=device)
        self._delta = torch.empty(self.n, self.R, device=device)
        self.D = torch.empty_like(self._delta)
        self.share = torch.empty_like(self._delta)
        wide = (self.n, self.R * self.c)
        kind = torch.float16 if settings.precision == "half" else torch.float32
        self.S = torch.empty(self.K, *wide, dtype=kind, device=device)  # d ⊙ H⁽ᵏ⁾, k < K
        self.V = torch.empty(self.K + 1, *wide, dtype=kind, device=device)  # d ⊙ G⁽ᵏ⁾
        self.Z = torch.empty(wide, device=device)
        self.to_head = torch.empty(wide, device=device)

    def _load_graph(self, graph: Graph, device: torch.device) -> None:
        pairs, pair_of_entry = numbered_pairs(graph)
        self.n_pairs = len(pairs)
        pair_ptr = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=graph.n_nodes))])

        def put(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array.astype(np.int32)).to(device)

        self.indptr, self.indices, self.entry_pair = put(graph.indptr), put(graph.indices), put(pair_of_entry)
        self.pair_ptr, self.left, self.right = put(pair_ptr), put(pairs[:, 0]), put(pairs[:, 1])
        self.count = torch.as_tensor(graph.degree, dtype=torch.float32, device=device)

    @property
    def delta(self) -> Tensor:
        """The degree of the last forward pass, (R, n)."""
        return self._delta.T

    def _columns(self) -> tuple[tuple[int, int], dict[str, int]]:
        """Grid and block of the kernels over (n, R·c): 128 columns per warp, so that sums stay inside a thread."""
        warps = 4 if self.R * self.c >= 512 else 2 if self.R * self.c >= 256 else 1
        block = 128 * warps
        return (self.n, triton.cdiv(self.R * self.c, block)), {
            "QUADS": self.R * self.c % 4 == 0,
            "BLOCK": block,
            "num_warps": warps,
        }

    def _tiles(self) -> tuple[tuple[int, int], dict[str, int]]:
        """Grid and block of the kernels that sum over the classes of a replica."""
        CB = triton.next_power_of_2(self.c)
        RB = max(1, min(triton.next_power_of_2(self.R), 256 // CB))
        return (self.n, triton.cdiv(self.R, RB)), {
            "RB": RB,
            "CB": CB,
            "num_warps": 4 if RB * CB >= 512 else 1,
        }

    def forward(self, H: Tensor) -> Tensor:
        """Z = H⁽ᴷ⁾; H is (R, n, c), node-major in memory."""
        self.H = H.transpose(0, 1).contiguous().view(self.n, -1)
        self._degree()
        shape = (self.n, self.R, self.c)
        torch.mul(self.H.view(shape), self.D.unsqueeze(-1), out=self.S[0].view(shape))
        for k in range(self.K - 1):
            self._hop(self.S[k], self.S[k + 1], self.alpha, scale=True)
        self._hop(self.S[-1], self.Z, self.alpha, scale=False)
        return self.Z.view(shape).transpose(0, 1)

    def _hop(self, source: Tensor, target: Tensor, back: float, scale: bool) -> None:
        grid, block = self._columns()
        kernels.hop[grid](
            source, self.H, self.D, target, self.indptr, self.indices, self.R * self.c, self.R, self.c,
            1 - self.alpha, back, RETURN=back > 0, SCALE=scale, NB=_AT_ONCE, **block,
        )  # fmt: skip

    def _degree(self) -> None:
        RC = self.R * self.c
        if self.n_pairs and self.uses_degree:
            grid, block = self._tiles()
            largest = torch.zeros_like(self.rate)
            kernels.pair_distances[grid](
                self.H, self.rho, largest, self.pair_ptr, self.right, RC, self.R, self.c, **block
            )
            self.rate.copy_(penalty_rate(largest, self.sigma))
        block = min(128, triton.next_power_of_2(self.R))
        kernels.degree_forward[(self.n, triton.cdiv(self.R, block))](
            self.rho, self.rate, self.uses, self._delta, self.D, self.indptr, self.entry_pair,
            self.R, LOG_PENALTY_CAP, BLOCK=block, num_warps=max(1, block // 32),
        )  # fmt: skip

    def backward(self, labelled: LabelledRows, gradient: Tensor) -> Tensor:
        """∂loss/∂H⁽⁰⁾ from the gradient at the labelled rows."""
        shape = (self.n, self.R, self.c)
        row, replica = labelled.row, labelled.replica
        last = self.V[-1].zero_().view(shape)
        last[row, replica] = (gradient * self.D[row, replica].unsqueeze(-1)).to(last.dtype)
        for k in range(self.K, 0, -1):
            self._hop(self.V[k], self.V[k - 1], 0.0, scale=True)
        grid, block = self._columns()
        kernels.gather_gradients[grid](
            self.S, self.V, self.H, self.Z, self.D, self.to_head,
            self.n * self.R * self.c, self.R * self.c, self.R, self.c, self.K, self.alpha, **block,
        )  # fmt: skip
        if self.learns_degree and self.n_pairs:
            self._degree_backward()
        return self.to_head.view(shape).transpose(0, 1)

    def _degree_backward(self) -> None:
        grid, tiles = self._tiles()
        kernels.degree_share[grid](
            self.Z, self._delta, self.uses, self.count, self.share, self.R * self.c, self.R, self.c, **tiles
        )
        block = min(128, triton.next_power_of_2(self.R))
        kernels.pair_weights[(self.n_pairs, triton.cdiv(self.R, block))](
            self.rho, self.rate, self.share, self.left, self.right, self.R, LOG_PENALTY_CAP,
            BLOCK=block, num_warps=max(1, block // 32),
        )  # fmt: skip
        grid, columns = self._columns()
        kernels.degree_backward[grid](
            self.H, self.rho, self.to_head, self.indptr, self.indices, self.entry_pair,
            self.R * self.c, self.R, self.c, NB=_AT_ONCE, **columns,
        )  # fmt: skip


class TrainedHead(Head, Protocol):
    """A head on CUDA, whose parameters say how the optimizer updates them."""

    def trained(self) -> list[Trained]: ...


class TritonDiffusion(Diffusion):
    """All gradients are ``scale`` times too large until the optimizer divides them by it (half precision needs that)."""

    capturable = True
    head: TrainedHead

    def __init__(self, head: TrainedHead, hops: TritonHops, labelled: LabelledRows, scale: float) -> None:
        super().__init__(head, hops, labelled)
        self.scale = scale

    def backward(self, gradient: Tensor) -> None:
        """Backpropagate the scaled gradient through the hops and the head."""
        super().backward(gradient if self.scale == 1 else gradient * self.scale)

    def optimizer(self, settings: Settings) -> TritonAdam:
        """Adam over all parameters, which undoes the scale."""
        trained = self.head.trained()
        return TritonAdam([t._replace(scale=t.scale * self.scale) for t in trained], settings)
