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

from grande_gnn.engine.degrees import Degree
from grande_gnn.engine.heads import Head, initial_uniform
from grande_gnn.engine.kernels import TorchKernels
from grande_gnn.engine.plan import Replica, Settings

__all__ = ["Diffusion", "FixedSGC", "LabelledRows", "Model"]


class LabelledRows:
    """The labelled samples of all replicas as one flat list of (replica, row, class)."""

    def __init__(self, replicas: Sequence[Replica], device: torch.device) -> None:
        found = [np.flatnonzero(r.labels >= 0) for r in replicas]
        sizes = np.array([len(f) for f in found])
        targets = np.concatenate([r.labels[f] for r, f in zip(replicas, found, strict=True)])
        self.replica = torch.from_numpy(np.repeat(np.arange(len(replicas)), sizes)).to(device)
        self.row = torch.from_numpy(np.concatenate(found)).to(device)
        self.target = torch.from_numpy(targets).to(device)
        self.weight = torch.from_numpy(np.repeat(1 / sizes, sizes).astype(np.float32)).to(device)

    def loss_gradient(self, logits: Tensor) -> Tensor:
        """Gradient of the mean cross-entropy of each replica, summed: (softmax − one-hot)/n_labelled."""
        gradient = logits.softmax(1)
        gradient[torch.arange(len(gradient), device=logits.device), self.target] -= 1
        return gradient.mul_(self.weight[:, None])


class Model(Protocol):
    """What the training loop needs of a model."""

    labelled: LabelledRows

    def all_parameters(self) -> list[Tensor]: ...
    def forward(self) -> Tensor: ...
    def backward(self, gradient: Tensor) -> None: ...
    def evaluate(self) -> tuple[Tensor, Tensor, Tensor]: ...
    def of_replica(self, r: int) -> dict[str, np.ndarray]: ...


class Diffusion:
    """Z = propagate(head(X)) with a degree taken from head(X) itself.

    With P = Â, H⁽ᵏ⁾ = (1 − α)PH⁽ᵏ⁻¹⁾ + αH⁽⁰⁾ and G the gradient at H⁽ᵏ⁾, each hop sends
    P(1 − α)G to H⁽ᵏ⁻¹⁾ and αG to H⁽⁰⁾. As P = diag(d) à diag(d), its part of ∂loss/∂(log d) is the row sum
    of (1 − α)G ⊙ PH⁽ᵏ⁻¹⁾ + P(1 − α)G ⊙ H⁽ᵏ⁻¹⁾, and log d = −½ log δ.
    """

    def __init__(
        self,
        head: Head,
        degree: Degree,
        kernels: TorchKernels,
        labelled: LabelledRows,
        settings: Settings,
    ) -> None:
        self.head, self.degree, self.kernels, self.labelled = head, degree, kernels, labelled
        self.K, self.alpha = settings.hops, settings.teleport

    def all_parameters(self) -> list[Tensor]:
        return self.head.all_parameters()

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        return self.head.of_replica(r)

    def _diffuse(self, H: Tensor) -> Tensor:
        self._delta = self.degree.forward(H)
        self._scale = self._delta.rsqrt().unsqueeze(-1)
        self._states = [H]
        for _ in range(self.K):
            moved = self.kernels.neighbour_sum(self._states[-1] * self._scale)
            moved.mul_(self._scale * (1 - self.alpha))
            self._states.append(moved.add_(H, alpha=self.alpha) if self.alpha else moved)
        return self._states[-1]

    def forward(self) -> Tensor:
        Z = self._diffuse(self.head.forward(training=True))
        return Z[self.labelled.replica, self.labelled.row]

    def backward(self, gradient: Tensor) -> None:
        H = self._states[0]
        G = torch.zeros_like(H)
        G[self.labelled.replica, self.labelled.row] = gradient
        to_head = torch.zeros_like(H)
        log_scale = torch.zeros_like(self._delta)
        for k in range(self.K, 0, -1):
            if self.alpha:
                to_head.add_(G, alpha=self.alpha)
                diffused = self._states[k].sub_(
                    H, alpha=self.alpha
                )  # (1 − α)PH⁽ᵏ⁻¹⁾, no longer needed as H⁽ᵏ⁾
            else:
                diffused = self._states[k]
            log_scale += diffused.mul_(G).sum(-1)
            G = self.kernels.neighbour_sum(G.mul_(self._scale)).mul_(self._scale * (1 - self.alpha))
            log_scale += (G * self._states[k - 1]).sum(-1)
        to_head += G
        through_degree = self.degree.backward(log_scale.div_(self._delta).mul_(-0.5))
        if through_degree is not None:
            to_head += through_degree
        self.head.backward(to_head)

    def evaluate(self) -> tuple[Tensor, Tensor, Tensor]:
        """Logits, H⁽⁰⁾ and degree of all replicas without dropout."""
        H = self.head.forward(training=False)
        return self._diffuse(H), H, self._delta


class FixedSGC:
    """Z = Â^K X W + b with degree centrality: logistic regression on features diffused once.

    Replicas with the same labelled rows are trained by one product over those rows alone.
    """

    def __init__(
        self, diffused: Tensor, count: Tensor, replicas: Sequence[Replica], c: int, settings: Settings
    ) -> None:
        self.X, self.count, self.c = diffused, count, c
        self.labelled = LabelledRows(replicas, diffused.device)
        d = diffused.shape[1]
        sets: dict[bytes, list[int]] = {}
        for r, replica in enumerate(replicas):
            sets.setdefault((replica.labels >= 0).tobytes(), []).append(r)
        self.members = list(sets.values())
        self.rows = [torch.from_numpy(np.flatnonzero(replicas[m[0]].labels >= 0)) for m in self.members]
        self.inputs = [diffused[rows.to(diffused.device)] for rows in self.rows]
        self.weights, self.biases = [], []
        for member in self.members:
            draws = [
                np.random.default_rng([settings.seed, replicas[r].repetition, replicas[r].fold])
                for r in member
            ]
            weight = np.concatenate([initial_uniform((d, c), d, rng) for rng in draws], axis=1)
            bias = np.concatenate([initial_uniform((c,), d, rng) for rng in draws])
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
