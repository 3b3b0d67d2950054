"""The two trainable models of the engine, each with a forward and a backward pass.

A model gives logits at the labelled rows of all replicas and takes their gradient; the training loop
needs no more. :class:`Diffusion` is head → degree → K hops. :class:`FixedSGC` is SGC with degree
centrality, whose Â^K X never changes: it is computed once and only labelled rows are trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from grande_gnn.engine.cpu.adam import Adam, Optimiser
from grande_gnn.engine.cpu.diffusion import Flow
from grande_gnn.engine.cpu.transform import Head, initial_weights
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Replica, Settings

__all__ = ["Diffusion", "FixedSGC", "Model"]


class Model(Protocol):
    """What the training loop needs of a model."""

    labelled: LabelledRows
    capturable: bool  # whether an epoch can be recorded as a CUDA graph

    def optimiser(self, settings: Settings) -> Optimiser: ...
    def forward(self) -> Tensor: ...
    def backward(self, gradient: Tensor) -> None: ...
    def evaluate(self) -> tuple[Tensor, Tensor, Tensor]: ...
    def of_replica(self, r: int) -> dict[str, np.ndarray]: ...


class Diffusion:
    """Z = flow(head(X)), the degree inside the flow being taken from head(X) itself."""

    def __init__(self, head: Head, flow: Flow, labelled: LabelledRows, *, capturable: bool = False) -> None:
        self.head, self.flow, self.labelled, self.capturable = head, flow, labelled, capturable

    def all_parameters(self) -> list[Tensor]:
        return self.head.all_parameters()

    def optimiser(self, settings: Settings) -> Optimiser:
        return Adam(self.all_parameters(), settings)

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        return self.head.of_replica(r)

    def forward(self) -> Tensor:
        return self.labelled.gather(self.flow.forward(self.head.forward(training=True)))

    def backward(self, gradient: Tensor) -> None:
        self.head.backward(self.flow.backward(self.labelled, gradient))

    def evaluate(self) -> tuple[Tensor, Tensor, Tensor]:
        """Logits, H⁽⁰⁾ and degree of all replicas without dropout."""
        H = self.head.forward(training=False)
        return self.flow.forward(H), H, self.flow.delta


class FixedSGC:
    """Z = Â^K X W + b with degree centrality: logistic regression on features diffused once.

    Replicas with the same labelled rows are trained by one product over those rows alone.
    """

    def __init__(
        self, diffused: Tensor, count: Tensor, replicas: Sequence[Replica], c: int, settings: Settings
    ) -> None:
        self.X, self.count, self.c = diffused, count, c
        self.capturable = diffused.is_cuda
        self.labelled = LabelledRows(replicas, diffused.device)
        d = diffused.shape[1]
        sets: dict[bytes, list[int]] = {}
        for r, replica in enumerate(replicas):
            sets.setdefault((replica.labels >= 0).tobytes(), []).append(r)
        self.members = list(sets.values())
        self.rows = [torch.from_numpy(np.flatnonzero(replicas[m[0]].labels >= 0)) for m in self.members]
        self.inputs = [diffused[rows.to(diffused.device)] for rows in self.rows]
        self.weights, self.biases = [], []
        drawn = initial_weights(replicas, [("", d, c)], settings)
        for member in self.members:
            weight = np.concatenate([drawn[r]["weight"] for r in member], axis=1)
            bias = np.concatenate([drawn[r]["bias"] for r in member])
            self.weights.append(torch.from_numpy(weight).to(diffused.device))
            self.biases.append(torch.from_numpy(bias).to(diffused.device))
        # The flat list of labelled rows is in replica order; these are the places of each set's rows in it.
        starts = np.concatenate([[0], np.cumsum([int((r.labels >= 0).sum()) for r in replicas])])
        self.places = [
            torch.from_numpy(np.stack([np.arange(starts[r], starts[r + 1]) for r in member])).to(
                diffused.device
            )
            for member in self.members
        ]

    def optimiser(self, settings: Settings) -> Optimiser:
        return Adam(self.all_parameters(), settings)

    def all_parameters(self) -> list[Tensor]:
        return [*self.weights, *self.biases]

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        i, j = next((i, m.index(r)) for i, m in enumerate(self.members) if r in m)
        columns = slice(j * self.c, (j + 1) * self.c)
        return {
            "weight": self.weights[i][:, columns].cpu().numpy(),
            "bias": self.biases[i][columns].cpu().numpy(),
        }

    def forward(self) -> Tensor:
        out = self.X.new_empty(len(self.labelled.row), self.c)
        for X, W, b, places in zip(self.inputs, self.weights, self.biases, self.places, strict=True):
            out[places] = torch.addmm(b, X, W).view(len(X), -1, self.c).transpose(0, 1)
        return out

    def backward(self, gradient: Tensor) -> None:
        for X, W, b, places in zip(self.inputs, self.weights, self.biases, self.places, strict=True):
            g = gradient[places].transpose(0, 1).reshape(len(X), -1)
            W.grad, b.grad = X.T @ g, g.sum(0)

    def evaluate(self) -> tuple[Tensor, Tensor, Tensor]:
        n_replicas = sum(len(m) for m in self.members)
        Z = self.X.new_empty(n_replicas, len(self.X), self.c)
        for W, b, member in zip(self.weights, self.biases, self.members, strict=True):
            Z[member] = torch.addmm(b, self.X, W).view(len(self.X), -1, self.c).transpose(0, 1)
        return Z, Z, self.count.expand(n_replicas, -1)
