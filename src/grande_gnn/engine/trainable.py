"""What the training loop needs from a batch of trainings, and the batch that all diffusion models share.

A trainable computes the logits at the labelled rows of all its replicas and takes their gradient; the loop
(``training.py``) needs nothing else.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from torch import Tensor

from grande_gnn.engine.cpu.adam import Adam
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Settings

__all__ = ["Diffusion", "Head", "Hops", "Optimizer", "Trainable"]


class Optimizer(Protocol):
    """Updates all parameters of a trainable from their gradients."""

    def step(self) -> object: ...


class Trainable(Protocol):
    """A batch of replicas, built for one device, that the loop trains."""

    labelled: LabelledRows
    capturable: bool  # whether an epoch can be recorded as a CUDA graph

    def optimizer(self, settings: Settings) -> Optimizer:
        """A new optimizer of all parameters."""

    def forward(self) -> Tensor:
        """Logits of the labelled rows, in the order of ``labelled``, as in training."""

    def backward(self, gradient: Tensor) -> None:
        """Set the gradient of every parameter from that of the labelled rows' logits."""

    def evaluate(self) -> tuple[Tensor, Tensor | None, Tensor]:
        """Logits (R, n, c), H⁽⁰⁾ (R, n, c) if there is a head, and degree (R, n) of all replicas, without dropout."""

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        """The parameters of one replica, by name."""


class Head(Protocol):
    """From features to H⁽⁰⁾ and back. H⁽⁰⁾ and its gradient are (R, n, c), whatever their strides."""

    def all_parameters(self) -> list[Tensor]: ...
    def of_replica(self, r: int) -> dict[str, np.ndarray]: ...
    def forward(self, training: bool) -> Tensor: ...
    def backward(self, gradient: Tensor) -> None: ...


class Hops(Protocol):
    """From H⁽⁰⁾ to logits and back: the degree, then K hops. Arrays are (R, n, c), whatever their strides."""

    @property
    def delta(self) -> Tensor: ...  # (R, n): the degree of the last forward pass
    def forward(self, H: Tensor) -> Tensor: ...
    def backward(self, labelled: LabelledRows, gradient: Tensor) -> Tensor: ...


class Diffusion:
    """Z = hops(head(X)); the degree of the hops is computed from head(X) itself."""

    capturable = False

    def __init__(self, head: Head, hops: Hops, labelled: LabelledRows) -> None:
        self.head, self.hops, self.labelled = head, hops, labelled

    def all_parameters(self) -> list[Tensor]:
        """Every parameter tensor of the head; the hops have none."""
        return self.head.all_parameters()

    def optimizer(self, settings: Settings) -> Optimizer:
        """Adam over all parameters."""
        return Adam(self.all_parameters(), settings)

    def of_replica(self, r: int) -> dict[str, np.ndarray]:
        """The parameters of one replica, by name."""
        return self.head.of_replica(r)

    def forward(self) -> Tensor:
        """Logits of the labelled rows, with dropout."""
        return self.labelled.gather(self.hops.forward(self.head.forward(training=True)))

    def backward(self, gradient: Tensor) -> None:
        """Backpropagate through the hops and the head."""
        self.head.backward(self.hops.backward(self.labelled, gradient))

    def evaluate(self) -> tuple[Tensor, Tensor, Tensor]:
        """Logits, H⁽⁰⁾ and degree of all replicas without dropout."""
        H = self.head.forward(training=False)
        return self.hops.forward(H), H, self.hops.delta
