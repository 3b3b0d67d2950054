"""Adam by torch's fused kernel, called directly.

``torch.optim.Adam`` calls the same kernel, but loads torch's compiler first, which takes a second: longer than many
trainings. A torch without that private function, or with another signature, gets ``torch.optim.Adam``.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grande_gnn.engine.replica import Settings

__all__ = ["Adam"]


class Adam:
    """β₁ = 0.9, β₂ = 0.999, ε = 1e-8, and L2 decay on all parameters, each of which has a gradient."""

    def __init__(self, parameters: Sequence[Tensor], settings: Settings) -> None:
        self.parameters, self.settings = list(parameters), settings
        self.means, self.squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
        # The number of steps is on the device, so that epochs can be replayed.
        self.count = torch.zeros((), device=self.parameters[0].device)
        self._public: torch.optim.Optimizer | None = None

    def step(self) -> None:
        """Update every parameter in place."""
        if self._public is not None:
            self._public.step()
            return
        try:
            self._fused_step()
        except (AttributeError, TypeError):  # raised in the first step, before anything is changed
            self._public = torch.optim.Adam(
                self.parameters, self.settings.lr, weight_decay=self.settings.weight_decay,
                fused=True, capturable=self.count.is_cuda,
            )  # fmt: skip
            self._public.step()

    def _fused_step(self) -> None:
        fused_adam = torch._fused_adam_
        self.count += 1
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        fused_adam(
            self.parameters, gradients, self.means, self.squares, [], [self.count] * len(gradients),
            lr=self.settings.lr, beta1=0.9, beta2=0.999, weight_decay=self.settings.weight_decay, eps=1e-8,
            amsgrad=False, maximize=False,
        )  # fmt: skip
