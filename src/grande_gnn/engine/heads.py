"""The heads of R replicas side by side: one linear layer, or two with a ReLU between.

X·[W₁ … W_R] is one large matrix product instead of R small ones. Replicas of one repetition share
their dropout masks, so each repetition is one product. Forward and backward are written out: both
are a few lines, and nothing is kept that is not needed.

Shapes: n samples, d features, h hidden, c classes; outputs and their gradients are (R, n, c).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from grande_gnn.engine.dropout import MaskStream
from grande_gnn.engine.plan import Replica, Settings

__all__ = ["Head", "LinearHead", "MLPHead", "build_head"]


def initial_uniform(shape: tuple[int, ...], fan_in: int, rng: np.random.Generator) -> np.ndarray:
    """U(−1/√fan_in, 1/√fan_in), the law of ``torch.nn.Linear`` for weights and biases."""
    bound = np.float32(1 / np.sqrt(fan_in))
    return rng.random(shape, dtype=np.float32) * (2 * bound) - bound


class Inputs:
    """The features, with each repetition's dropout mask when training."""

    def __init__(self, X: Tensor, repetitions: Sequence[int], settings: Settings) -> None:
        self.X, self.drop = X, settings.drop
        self.scaled = X / (1 - self.drop) if self.drop else X
        self.masks = {
            r: MaskStream((X.shape[0], X.shape[1]), self.drop, (settings.seed, r, 0), X.device)
            for r in (set(repetitions) if self.drop else ())
        }

    def __call__(self, repetition: int, training: bool) -> Tensor:
        return self.scaled * self.masks[repetition].next() if training and self.drop else self.X


class Head:
    """Common part: replicas sorted into runs of one repetition, parameters as plain tensors."""

    parameters: dict[str, list[Tensor]]

    def __init__(self, X: Tensor, replicas: Sequence[Replica], settings: Settings) -> None:
        repetitions = [r.repetition if settings.drop else 0 for r in replicas]
        starts = [i for i, r in enumerate(repetitions) if i == 0 or r != repetitions[i - 1]]
        self.runs = [slice(a, b) for a, b in zip(starts, [*starts[1:], len(replicas)], strict=True)]
        self.repetitions = [repetitions[a] for a in starts]
        self.inputs = Inputs(X, repetitions, settings)
        self.n, self.d = X.shape
        self.device = X.device

    def all_parameters(self) -> list[Tensor]:
        """Every parameter tensor, for the optimiser."""
        return [p for group in self.parameters.values() for p in group]

    def _side_by_side(self, per_replica: list[np.ndarray]) -> list[Tensor]:
        """(d, m) of each replica → for each run one (d, R·m), so that one product serves the run."""
        return [
            torch.from_numpy(np.concatenate(per_replica[run], axis=-1)).to(self.device) for run in self.runs
        ]

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        """The parameters of one replica, by name."""
        raise NotImplementedError

    def forward(self, training: bool) -> Tensor:
        """H⁽⁰⁾ of all replicas, (R, n, c)."""
        raise NotImplementedError

    def backward(self, gradient: Tensor) -> None:
        """Set ``.grad`` of all parameters from ∂loss/∂H⁽⁰⁾."""
        raise NotImplementedError


class LinearHead(Head):
    """H⁽⁰⁾ = XW + b."""

    def __init__(self, X: Tensor, replicas: Sequence[Replica], c: int, settings: Settings) -> None:
        super().__init__(X, replicas, settings)
        self.c = c
        weights, biases = [], []
        for replica in replicas:
            rng = np.random.default_rng([settings.seed, replica.repetition, replica.fold])
            weights.append(initial_uniform((self.d, c), self.d, rng))
            biases.append(initial_uniform((c,), self.d, rng))
        self.parameters = {"weight": self._side_by_side(weights), "bias": self._side_by_side(biases)}

    def forward(self, training: bool) -> Tensor:
        self._X = [self.inputs(r, training) for r in self.repetitions]
        pieces = [
            torch.addmm(b, X, W).view(self.n, -1, self.c)
            for X, W, b in zip(self._X, self.parameters["weight"], self.parameters["bias"], strict=True)
        ]
        return torch.cat([p.transpose(0, 1) for p in pieces]).contiguous()

    def backward(self, gradient: Tensor) -> None:
        for i, run in enumerate(self.runs):
            g = gradient[run].transpose(0, 1).reshape(self.n, -1)
            self.parameters["weight"][i].grad = self._X[i].T @ g
            self.parameters["bias"][i].grad = g.sum(0)

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        i, j = _locate(self.runs, r)
        columns = slice(j * self.c, (j + 1) * self.c)
        return {
            "weight": self.parameters["weight"][i][:, columns].cpu().numpy(),
            "bias": self.parameters["bias"][i][columns].cpu().numpy(),
        }


class MLPHead(Head):
    """H⁽⁰⁾ = dropout(ReLU(dropout(X) W₁ + b₁)) W₂ + b₂."""

    def __init__(self, X: Tensor, replicas: Sequence[Replica], c: int, h: int, settings: Settings) -> None:
        super().__init__(X, replicas, settings)
        self.c, self.h, self.drop = c, h, settings.drop
        parts: dict[str, list[np.ndarray]] = {"weight1": [], "bias1": [], "weight2": [], "bias2": []}
        for replica in replicas:
            rng = np.random.default_rng([settings.seed, replica.repetition, replica.fold])
            parts["weight1"].append(initial_uniform((self.d, h), self.d, rng))
            parts["bias1"].append(initial_uniform((h,), self.d, rng))
            parts["weight2"].append(initial_uniform((1, h, c), h, rng))
            parts["bias2"].append(initial_uniform((1, 1, c), h, rng))
        self.parameters = {
            "weight1": self._side_by_side(parts["weight1"]),
            "bias1": self._side_by_side(parts["bias1"]),
            "weight2": [torch.from_numpy(np.concatenate(parts["weight2"])).to(self.device)],
            "bias2": [torch.from_numpy(np.concatenate(parts["bias2"])).to(self.device)],
        }
        self.masks = [
            MaskStream((self.n, h), self.drop, (settings.seed, r, 1), self.device) if self.drop else None
            for r in self.repetitions
        ]

    def forward(self, training: bool) -> Tensor:
        self._X = [self.inputs(r, training) for r in self.repetitions]
        self._hidden = []
        weight2, out = self.parameters["weight2"][0], []
        for i, run in enumerate(self.runs):
            hidden = torch.addmm(self.parameters["bias1"][i], self._X[i], self.parameters["weight1"][i])
            hidden = hidden.relu_().view(self.n, -1, self.h)
            mask = self.masks[i]
            if training and mask is not None:
                hidden.mul_(mask.next().div_(1 - self.drop).unsqueeze(1))
            self._hidden.append(hidden)
            out.append(torch.baddbmm(self.parameters["bias2"][0][run], hidden.transpose(0, 1), weight2[run]))
        return torch.cat(out)

    def backward(self, gradient: Tensor) -> None:
        weight2 = self.parameters["weight2"][0]
        weight2.grad = torch.empty_like(weight2)
        self.parameters["bias2"][0].grad = gradient.sum(1, keepdim=True)
        for i, run in enumerate(self.runs):
            hidden, g = self._hidden[i], gradient[run]
            torch.bmm(hidden.permute(1, 2, 0), g, out=weight2.grad[run])
            # A hidden value is 0 where the ReLU or the dropout cut it: there the gradient is cut too.
            g1 = hidden.new_empty(hidden.shape)
            torch.bmm(g, weight2[run].transpose(1, 2) / (1 - self.drop), out=g1.transpose(0, 1))
            g1 = torch.ops.aten.threshold_backward(g1, hidden, 0).view(self.n, -1)
            self.parameters["weight1"][i].grad = self._X[i].T @ g1
            self.parameters["bias1"][i].grad = g1.sum(0)

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        i, j = _locate(self.runs, r)
        columns = slice(j * self.h, (j + 1) * self.h)
        return {
            "weight1": self.parameters["weight1"][i][:, columns].cpu().numpy(),
            "bias1": self.parameters["bias1"][i][columns].cpu().numpy(),
            "weight2": self.parameters["weight2"][0][r].cpu().numpy(),
            "bias2": self.parameters["bias2"][0][r, 0].cpu().numpy(),
        }


def _locate(runs: Sequence[slice], r: int) -> tuple[int, int]:
    """The run that holds replica r, and r's place in it."""
    return next((i, r - run.start) for i, run in enumerate(runs) if run.start <= r < run.stop)


def build_head(X: Tensor, replicas: Sequence[Replica], n_classes: int, settings: Settings) -> Head:
    """SGC is linear; APPNP has a hidden layer unless ``hidden=None``."""
    hidden = replicas[0].hidden
    if settings.model == "sgc" or hidden is None:
        return LinearHead(X, replicas, n_classes, settings)
    return MLPHead(X, replicas, n_classes, hidden, settings)
