"""The heads of R replicas side by side: one linear layer, or two with a ReLU between.

X·[W₁ … W_R] is one large matrix product instead of R small ones. Replicas of one repetition share
their dropout masks, so a *run* of such replicas is one product. Forward and backward pass are written out: both
are a few lines, nothing is kept that is not needed, and the masks are the only large arrays allocated in an epoch.

Shapes: n samples, d features, h hidden units, c classes; outputs and their gradients are (R, n, c).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from grande_gnn.engine.dropout import MaskRows, MaskStream
from grande_gnn.engine.initial import Weights, initial_weights
from grande_gnn.engine.replica import Replica, Settings
from grande_gnn.internal.row_blocks import for_row_blocks

__all__ = [
    "LONGEST_RUN",
    "Head",
    "Inputs",
    "LinearHead",
    "MLPHead",
    "Run",
    "build_head",
    "relu_backward_",
    "relu_dropout_",
    "runs_of",
]

LONGEST_RUN = 16
"""Replicas in one run of the hidden layer: enough for a wide product, few enough for the CPU's cache."""


def _threshold_backward() -> Callable[..., Tensor] | None:
    """torch's own in-place gradient of the ReLU, which it does not promise to keep."""
    try:
        return torch.ops.aten.threshold_backward.grad_input
    except AttributeError:
        return None


threshold_backward = _threshold_backward()
"""``None`` in a torch that does not have it; :func:`relu_backward_` then uses public functions, which need a mask."""


def relu_backward_(gradient: Tensor, output: Tensor) -> None:
    """Set the gradient to 0 in place where the ReLU's output is 0."""
    if threshold_backward is None:
        gradient.masked_fill_(output <= 0, 0.0)
    else:
        threshold_backward(gradient, output, 0, grad_input=gradient)


def relu_dropout_(hidden: Tensor, mask: MaskRows) -> None:
    """ReLU, then a product with this mask, of (n, R, h) hidden units on the CPU: both in one pass, in place."""
    values = hidden.numpy()

    def change(rows: slice) -> None:
        np.maximum(values[rows], 0, out=values[rows])
        values[rows] *= mask(rows)[:, None]

    for_row_blocks(change, values)


@dataclass(frozen=True)
class Run:
    """Consecutive replicas of one repetition, trained by one matrix product."""

    replicas: slice
    repetition: int

    def __len__(self) -> int:
        return self.replicas.stop - self.replicas.start


def runs_of(replicas: Sequence[Replica], settings: Settings, longest: int) -> list[Run]:
    """Cut replicas, sorted by repetition, into runs; without dropout the repetition does not matter."""
    keys = [r.repetition if settings.drop else 0 for r in replicas]
    runs, start = [], 0
    for i in range(1, len(keys) + 1):
        if i == len(keys) or keys[i] != keys[start] or i - start == longest:
            runs.append(Run(slice(start, i), keys[start]))
            start = i
    return runs


class Inputs:
    """The features; in training each repetition has a copy with a new dropout mask every epoch."""

    def __init__(self, X: Tensor, runs: Sequence[Run], settings: Settings) -> None:
        self.X, self.drop = X, settings.drop
        if self.drop:
            repetitions = {run.repetition for run in runs}
            self.masks = {
                r: MaskStream((len(X), X.shape[1]), self.drop, (settings.seed, r, 0)) for r in repetitions
            }
            self.masked = {r: torch.empty_like(X) for r in repetitions}

    def draw(self, training: bool) -> None:
        """Choose the inputs of this pass: with new masks in training, the features as they are otherwise."""
        self.training = training and bool(self.drop)
        if self.training:
            for r, mask in self.masks.items():
                if self.X.is_cuda:
                    scaled = mask.next().mul_(1 / (1 - self.drop))
                    torch.mul(self.X, scaled.to(self.X.device), out=self.masked[r])
                else:
                    mask.multiply(self.X, self.masked[r], kept=1 / (1 - self.drop))

    def __getitem__(self, repetition: int) -> Tensor:
        return self.masked[repetition] if self.training else self.X


class Head:
    """What both heads share: runs of replicas, inputs, parameters as plain tensors side by side."""

    parameters: dict[str, list[Tensor]]

    def __init__(self, inputs: Inputs, runs: list[Run], c: int) -> None:
        self.inputs, self.runs, self.c = inputs, runs, c
        self.n, self.d = inputs.X.shape
        self.device = inputs.X.device
        self._is_on_cpu = self.device.type == "cpu"

    def all_parameters(self) -> list[Tensor]:
        """Every parameter tensor, for the optimizer."""
        return [p for group in self.parameters.values() for p in group]

    def _stack(self, drawn: Sequence[Weights], name: str) -> Tensor:
        """One parameter of several replicas as (R, …); arrays that they share are sent to the device once."""
        distinct = {id(w): w for w in drawn}
        sent = {key: torch.from_numpy(w[name]).to(self.device) for key, w in distinct.items()}
        return torch.stack([sent[id(w)] for w in drawn])

    def _side_by_side(self, drawn: Sequence[Weights], name: str) -> list[Tensor]:
        """The replicas' (…, m) arrays side by side, one (…, R·m) per run, with memory for the gradient."""
        return [
            _with_gradient(self._stack(drawn[run.replicas], name).movedim(0, -2).flatten(-2).contiguous())
            for run in self.runs
        ]

    def _below_each_other(self, drawn: Sequence[Weights], name: str) -> list[Tensor]:
        """The replicas' (d, m) arrays, transposed and stacked, one (R·m, d) per run, with memory for the gradient."""
        stacks = [self._stack(drawn[run.replicas], name) for run in self.runs]
        return [_with_gradient(stack.transpose(1, 2).flatten(0, 1).contiguous()) for stack in stacks]

    def _place(self, r: int, width: int) -> tuple[int, slice]:
        """The run of replica r, and its columns or rows in the run's parameters."""
        i = next(i for i, run in enumerate(self.runs) if r < run.replicas.stop)
        start = (r - self.runs[i].replicas.start) * width
        return i, slice(start, start + width)

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        """The parameters of one replica, by name."""
        raise NotImplementedError

    def forward(self, training: bool) -> Tensor:
        """H⁽⁰⁾ of all replicas, (R, n, c)."""
        raise NotImplementedError

    def backward(self, gradient: Tensor) -> None:
        """Set the gradient of all parameters from ∂loss/∂H⁽⁰⁾."""
        raise NotImplementedError


def _with_gradient(parameter: Tensor) -> Tensor:
    """The parameter with memory for its gradient."""
    parameter.grad = torch.empty_like(parameter)
    return parameter


class LinearHead(Head):
    """H⁽⁰⁾ = XW + b; W is kept as (R·c, d)."""

    def __init__(
        self, inputs: Inputs, runs: list[Run], replicas: Sequence[Replica], c: int, settings: Settings
    ) -> None:
        super().__init__(inputs, runs, c)
        drawn = initial_weights(replicas, [("", self.d, c)], settings)
        self.parameters = {
            "weight": self._below_each_other(drawn, "weight"),
            "bias": self._side_by_side(drawn, "bias"),
        }
        # On the CPU the product is a sixth faster if the rows of its result begin at multiples of 64 bytes.
        width = len(replicas) * c
        stride = -(-width // 16) * 16 if self._is_on_cpu else width
        self._out = torch.empty(self.n, stride, device=self.device)[:, :width].unflatten(1, (-1, c))

    def forward(self, training: bool) -> Tensor:
        self.inputs.draw(training)
        for run, W, b in zip(self.runs, self.parameters["weight"], self.parameters["bias"], strict=True):
            out = self._out[:, run.replicas].flatten(1)  # a view: the run's columns of all rows
            torch.addmm(b, self.inputs[run.repetition], W.T, out=out)
        return self._out.transpose(0, 1)

    def backward(self, gradient: Tensor) -> None:
        for run, W, b in zip(self.runs, self.parameters["weight"], self.parameters["bias"], strict=True):
            g = gradient[run.replicas].transpose(0, 1).reshape(self.n, -1)
            torch.mm(g.T, self.inputs[run.repetition], out=W.grad)
            torch.sum(g, 0, out=b.grad)

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        i, part = self._place(r, self.c)
        weight, bias = (self.parameters[name][i][part] for name in ("weight", "bias"))
        return {"weight": weight.T.contiguous().cpu().numpy(), "bias": bias.cpu().numpy()}


class MLPHead(Head):
    """H⁽⁰⁾ = dropout(ReLU(dropout(X) W₁ + b₁)) W₂ + b₂."""

    def __init__(
        self, inputs: Inputs, runs: list[Run], replicas: Sequence[Replica], c: int, h: int, settings: Settings
    ) -> None:
        super().__init__(inputs, runs, c)
        self.h, self.drop = h, settings.drop
        drawn = initial_weights(replicas, [("1", self.d, h), ("2", h, c)], settings)
        self.parameters = {name: self._side_by_side(drawn, name) for name in ("weight1", "bias1")}
        self.parameters["weight2"] = [_with_gradient(self._stack(drawn, "weight2"))]
        self.parameters["bias2"] = [_with_gradient(self._stack(drawn, "bias2").unsqueeze(1))]
        self._prepare(len(replicas), settings)

    def _prepare(self, n_replicas: int, settings: Settings) -> None:
        """Allocate the arrays of the forward and backward pass on this device."""
        self._hidden = [torch.empty(self.n, len(run) * self.h, device=self.device) for run in self.runs]
        self._out = torch.empty(n_replicas, self.n, self.c, device=self.device)
        self._back = torch.empty(self.n, max(map(len, self.runs)) * self.h, device=self.device)
        repetitions = {run.repetition for run in self.runs} if self.drop else set()
        self.masks = {r: MaskStream((self.n, self.h), self.drop, (settings.seed, r, 1)) for r in repetitions}

    def forward(self, training: bool) -> Tensor:
        self.inputs.draw(training)
        weight2, bias2 = self.parameters["weight2"][0], self.parameters["bias2"][0]
        kept = 1 / (1 - self.drop)
        masks = {r: stream.draw(kept) for r, stream in self.masks.items()} if training else {}
        for i, run in enumerate(self.runs):
            flat = self._hidden[i]
            torch.addmm(
                self.parameters["bias1"][i],
                self.inputs[run.repetition],
                self.parameters["weight1"][i],
                out=flat,
            )
            hidden = flat.view(self.n, -1, self.h)
            self._activate(hidden, masks.get(run.repetition))
            span = run.replicas
            torch.baddbmm(bias2[span], hidden.transpose(0, 1), weight2[span], out=self._out[span])
        return self._out

    def _activate(self, hidden: Tensor, mask: MaskRows | None) -> None:
        """ReLU and, if there is a mask, dropout, in place."""
        if mask is not None and self._is_on_cpu:
            relu_dropout_(hidden, mask)
            return
        hidden.relu_()
        if mask is not None:
            whole = torch.from_numpy(mask(slice(0, self.n)))
            hidden.mul_(whole.to(self.device).unsqueeze(1))

    def backward(self, gradient: Tensor) -> None:
        # Contiguous, so that the sums of a replica do not depend on its place in the batch.
        gradient = gradient.contiguous()
        weight2, bias2 = self.parameters["weight2"][0], self.parameters["bias2"][0]
        assert weight2.grad is not None  # allocated with the parameter
        torch.sum(gradient, 1, keepdim=True, out=bias2.grad)
        for i, run in enumerate(self.runs):
            hidden, g = self._hidden[i].view(self.n, -1, self.h), gradient[run.replicas]
            torch.bmm(hidden.permute(1, 2, 0), g, out=weight2.grad[run.replicas])
            back = self._back[:, : len(run) * self.h]
            outwards = weight2[run.replicas].transpose(1, 2) / (1 - self.drop)
            torch.bmm(g, outwards, out=back.unflatten(1, (-1, self.h)).transpose(0, 1))
            # A hidden value is 0 where the ReLU or the dropout made it so: there the gradient is 0 too.
            relu_backward_(back, self._hidden[i])
            torch.mm(self.inputs[run.repetition].T, back, out=self.parameters["weight1"][i].grad)
            torch.sum(back, 0, out=self.parameters["bias1"][i].grad)

    def _weight1_of(self, run: int, part: slice) -> Tensor:
        """W₁ (d, h) of the replica with this part of its run."""
        return self.parameters["weight1"][run][:, part]

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        i, part = self._place(r, self.h)
        return {
            "weight1": self._weight1_of(i, part).cpu().numpy(),
            "bias1": self.parameters["bias1"][i][part].cpu().numpy(),
            "weight2": self.parameters["weight2"][0][r].cpu().numpy(),
            "bias2": self.parameters["bias2"][0][r, 0].cpu().numpy(),
        }


def build_head(X: Tensor, replicas: Sequence[Replica], n_classes: int, settings: Settings) -> Head:
    """The head of a batch: one layer for a model without a hidden layer or ``hidden=None``, otherwise two."""
    hidden = replicas[0].width(settings)
    if hidden is None:
        runs = runs_of(replicas, settings, len(replicas))
        return LinearHead(Inputs(X, runs, settings), runs, replicas, n_classes, settings)
    runs = runs_of(replicas, settings, LONGEST_RUN)
    return MLPHead(Inputs(X, runs, settings), runs, replicas, n_classes, hidden, settings)
