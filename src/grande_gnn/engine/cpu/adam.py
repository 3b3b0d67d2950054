"""Adam by torch's fused kernel, called directly.

``torch.optim.Adam`` calls the same kernel, but loads torch's compiler first, which takes a second, longer than many
a training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from grande_gnn.engine.replica import Settings

__all__ = ["Adam", "Optimiser"]


class Optimiser(Protocol):
    """Updates all parameters of a model from their gradients."""

    def step(self) -> object: ...


class Adam:
    """β₁ = 0.9, β₂ = 0.999, ε = 1e-8, and L2 decay on all parameters."""

    def __init__(self, parameters: Sequence[Tensor], settings: Settings) -> None:
        self.parameters, self.settings = list(parameters), settings
        self.means, self.squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
        self.count = torch.zeros(
            (), device=self.parameters[0].device
        )  # on the device, so that epochs can be replayed

    def step(self) -> None:
        """Update every parameter in place."""
        self.count += 1
        gradients = [p.grad for p in self.parameters if p.grad is not None]  # each has one
        torch._fused_adam_(
            self.parameters, gradients, self.means, self.squares, [], [self.count] * len(gradients),
            lr=self.settings.lr, beta1=0.9, beta2=0.999, weight_decay=self.settings.weight_decay, eps=1e-8,
            amsgrad=False, maximize=False,
        )  # fmt: skip
