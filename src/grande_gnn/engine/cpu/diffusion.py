"""From the head's output to logits and back: degree, then K hops. The reference, in plain torch.

With P = Â, H⁽ᵏ⁾ = (1 − α)PH⁽ᵏ⁻¹⁾ + αH⁽⁰⁾ and G⁽ᵏ⁾ the gradient that arrives at H⁽ᵏ⁾ along the hops, each hop sends
G⁽ᵏ⁻¹⁾ = (1 − α)PG⁽ᵏ⁾ to H⁽ᵏ⁻¹⁾ and αG⁽ᵏ⁾ to H⁽⁰⁾. As P = diag(d) Ã diag(d), its part of ∂loss/∂(log d) is the row sum of
G⁽ᵏ⁾ ⊙ (1 − α)PH⁽ᵏ⁻¹⁾ + G⁽ᵏ⁻¹⁾ ⊙ H⁽ᵏ⁻¹⁾, and log d = −½ log δ. The first product is G⁽ᵏ⁾ ⊙ (H⁽ᵏ⁾ − αH⁽⁰⁾), so all hops
together need only G⁽ᵏ⁾ ⊙ H⁽ᵏ⁾, once for each end of the hops and twice between, less the sum of the αG⁽ᵏ⁾ times H⁽⁰⁾.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from grande_gnn.engine.cpu.degrees import Degree
from grande_gnn.engine.cpu.kernels import TorchKernels
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Settings

__all__ = ["Flow", "TorchFlow"]


class Flow(Protocol):
    """What a model needs of a diffusion. H, Z and gradients are (R, n, c), whatever their strides."""

    @property
    def delta(self) -> Tensor: ...  # (R, n): the degree of the last forward pass
    def forward(self, H: Tensor) -> Tensor: ...
    def backward(self, labelled: LabelledRows, gradient: Tensor) -> Tensor: ...


class TorchFlow:
    """The diffusion in plain torch, on any device and with any degree; its own arrays are (n, R, c)."""

    def __init__(self, degree: Degree, kernels: TorchKernels, settings: Settings) -> None:
        self.degree, self.kernels = degree, kernels
        self.K, self.alpha = settings.hops, settings.teleport

    @property
    def delta(self) -> Tensor:
        return self._delta.T

    def forward(self, H: Tensor) -> Tensor:
        """Z = H⁽ᴷ⁾."""
        H = H.transpose(0, 1).contiguous()
        self._delta = self.degree.forward(H)
        self._scale = self._delta.rsqrt().unsqueeze(-1)
        self._states = [H]
        for _ in range(self.K):
            moved = self.kernels.neighbour_sum(self._states[-1] * self._scale)
            moved.mul_(self._scale * (1 - self.alpha))
            self._states.append(moved.add_(H, alpha=self.alpha) if self.alpha else moved)
        return self._states[-1].transpose(0, 1)

    def backward(self, labelled: LabelledRows, gradient: Tensor) -> Tensor:
        """∂loss/∂H⁽⁰⁾ from the gradient at the labelled rows; consumes the states of the forward pass."""
        states = self._states
        G = torch.zeros_like(states[0])
        labelled.scatter(gradient, G.transpose(0, 1))
        returned = torch.zeros_like(G) if self.alpha else None  # Σ αG⁽ᵏ⁾
        log_scale = torch.zeros_like(self._delta)
        for k in range(self.K, 0, -1):
            if returned is not None:
                returned.add_(G, alpha=self.alpha)
            log_scale.add_(states.pop().mul_(G).sum(-1), alpha=1 if k == self.K else 2)
            G = self.kernels.neighbour_sum(G.mul_(self._scale)).mul_(self._scale * (1 - self.alpha))
        to_head = G if returned is None else returned + G
        if self.K:
            at_start = G if returned is None else G - returned
            log_scale += (at_start * states[0]).sum(-1)
        through_degree = self.degree.backward(log_scale.div_(self._delta).mul_(-0.5))
        if through_degree is not None:
            to_head += through_degree
        return to_head.transpose(0, 1)
