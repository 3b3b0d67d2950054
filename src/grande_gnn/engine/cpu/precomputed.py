"""Z = Â^K X W + b with a degree that ignores the output: logistic regression on features that are diffused once.

This is SGC with degree centrality, as the authors run it. Replicas with the same labelled rows are trained by one
product over those rows alone; the graph is not needed after the first step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from grande_gnn.engine.cpu.adam import Adam
from grande_gnn.engine.cpu.kernels import TorchKernels
from grande_gnn.engine.initial import initial_weights
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Replica, Settings
from grande_gnn.graph import Graph

__all__ = ["Precomputed"]


class Precomputed:
    """A batch of replicas that share one degree; the docstring of the module describes it."""

    def __init__(
        self, X: Tensor, graph: Graph, replicas: Sequence[Replica], c: int, settings: Settings
    ) -> None:
        self.degree, self.c = replicas[0].degree(X, graph), c
        self.X = _diffused(X, self.degree, graph, settings.hops)
        self.capturable = X.is_cuda
        self.labelled = LabelledRows(replicas, X.device)
        sets: dict[bytes, list[int]] = {}
        for r, replica in enumerate(replicas):
            sets.setdefault((replica.labels >= 0).tobytes(), []).append(r)
        self.members = list(sets.values())
        self.rows = [torch.from_numpy(np.flatnonzero(replicas[m[0]].labels >= 0)) for m in self.members]
        self.inputs = [self.X[rows.to(X.device)] for rows in self.rows]
        self.weights, self.biases = [], []
        drawn = initial_weights(replicas, [("", X.shape[1], c)], settings)
        for member in self.members:
            weight = np.concatenate([drawn[r]["weight"] for r in member], axis=1)
            bias = np.concatenate([drawn[r]["bias"] for r in member])
            self.weights.append(torch.from_numpy(weight).to(X.device))
            self.biases.append(torch.from_numpy(bias).to(X.device))
        # The flat list of labelled rows is in replica order; these are the places of each set's rows in it.
        starts = np.concatenate([[0], np.cumsum([int((r.labels >= 0).sum()) for r in replicas])])
        self.places = [
            torch.from_numpy(np.stack([np.arange(starts[r], starts[r + 1]) for r in member])).to(X.device)
            for member in self.members
        ]

    def optimizer(self, settings: Settings) -> Adam:
        """Adam over all parameters."""
        return Adam(self.all_parameters(), settings)

    def all_parameters(self) -> list[Tensor]:
        """Weights and biases of all sets of labelled rows."""
        return [*self.weights, *self.biases]

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        """The parameters of one replica, by name."""
        i, j = next((i, m.index(r)) for i, m in enumerate(self.members) if r in m)
        columns = slice(j * self.c, (j + 1) * self.c)
        return {
            "weight": self.weights[i][:, columns].cpu().numpy(),
            "bias": self.biases[i][columns].cpu().numpy(),
        }

    def forward(self) -> Tensor:
        """Logits of the labelled rows."""
        out = self.X.new_empty(len(self.labelled.row), self.c)
        for X, W, b, places in zip(self.inputs, self.weights, self.biases, self.places, strict=True):
            out[places] = torch.addmm(b, X, W).view(len(X), -1, self.c).transpose(0, 1)
        return out

    def backward(self, gradient: Tensor) -> None:
        """Set the gradient of every parameter."""
        for X, W, b, places in zip(self.inputs, self.weights, self.biases, self.places, strict=True):
            g = gradient[places].transpose(0, 1).reshape(len(X), -1)
            W.grad, b.grad = X.T @ g, g.sum(0)

    def evaluate(self) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of all rows, the same once more as the output of the head (nothing follows it), and the degree."""
        n_replicas = sum(len(m) for m in self.members)
        Z = self.X.new_empty(n_replicas, len(self.X), self.c)
        for W, b, member in zip(self.weights, self.biases, self.members, strict=True):
            Z[member] = torch.addmm(b, self.X, W).view(len(self.X), -1, self.c).transpose(0, 1)
        return Z, Z, self.degree.expand(n_replicas, -1)


def _diffused(X: Tensor, degree: Tensor, graph: Graph, hops: int) -> Tensor:
    """Â^K X; the features themselves stay as they are."""
    kernels = TorchKernels(graph, 1, X.shape[1], X.device)
    scale = degree.rsqrt()[:, None, None]
    diffused = X.unsqueeze(1)
    for k in range(hops):
        scaled = diffused.mul_(scale) if k else diffused * scale
        diffused = kernels.neighbor_sum(scaled).mul_(scale)
        del scaled
    return diffused[:, 0]
