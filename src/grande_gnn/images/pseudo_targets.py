"""Pseudo-labels of unlabelled images while a network is adapted, and their weights in the loss.

    p  ← softmax(logits of a weak view)
    p  ← normalize(p · π / mean of p over the last batches)            distribution alignment
    p  ← 0.9 p + 0.1 softmax(z·bank/τ) · p_bank                        smoothed by similar images
    w  = 1 where max p ≥ μ, else exp(−2 (max p − μ)²/σ²)               soft weight

π is the share of each class in the teacher's predictions, so classes need not be balanced. μ and σ² are the running mean and
variance of max p, so the confidence that a full weight requires rises as the network learns. Alignment: Berthelot et al.,
AdaMatch, ICLR 2022; bank: Li et al., CoMatch, ICCV 2021; soft weights: Chen et al., SoftMatch, ICLR 2023.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize, softmax

__all__ = ["PseudoTargets", "Recent"]

WINDOW = 32
"""Batches over which the mean prediction is taken."""

REMEMBERED = 5
"""Batches in the memory bank."""

SMOOTHING = 0.1
"""The weight of similar images in a pseudo-label."""

MOMENTUM = 0.95
"""Momentum of the running mean and variance of the confidence: they cover about twenty batches."""


class Recent:
    """The last ``size`` tensors of one shape, oldest first, in a buffer that stays in place, so that a recorded step can
    write to it. A tensor of another shape starts it anew, as happens when batches become smaller."""

    def __init__(self, size: int) -> None:
        self.size, self.count = size, 0
        self._buffer: Tensor | None = None

    def append(self, value: Tensor) -> None:
        """Add a tensor; if the buffer is full, the oldest one is dropped."""
        if self._buffer is None or self._buffer.shape[1:] != value.shape:
            self._buffer, self.count = value.new_zeros(self.size, *value.shape), 0
        if self.is_full:
            self._buffer.copy_(torch.cat([self._buffer[1:], value[None]]))
        else:
            self._buffer[self.count] = value
            self.count += 1

    @property
    def is_full(self) -> bool:
        """Whether ``size`` tensors are kept."""
        return self.count == self.size

    @property
    def stacked(self) -> Tensor:
        """The tensors that are kept, one after the other in the first dimension."""
        assert self._buffer is not None  # something was added
        return self._buffer[: self.count]

    def state(self) -> list[Tensor]:
        """What :meth:`restore` needs."""
        return [] if self._buffer is None else list(self.stacked.clone())

    def restore(self, state: list[Tensor]) -> None:
        """Keep exactly these tensors."""
        self._buffer, self.count = None, 0
        for value in state:
            self.append(value)


class PseudoTargets:
    """Computes pseudo-labels and their weights, and keeps the running statistics that they depend on."""

    def __init__(self, marginal: Tensor | None, temperature: float, smoothing: float = SMOOTHING) -> None:
        self.marginal = None if marginal is None else marginal.clone()
        self.temperature, self.smoothing = temperature, smoothing
        self.bank, self.remembered = Recent(REMEMBERED), Recent(REMEMBERED)
        self.means = Recent(WINDOW)
        self.center: Tensor | None = None
        self.variance: Tensor | None = None

    @property
    def is_settled(self) -> bool:
        """Whether all that is kept has its final size, so that each step does the same as the one before."""
        return self.bank.is_full and (self.marginal is None or self.means.is_full)

    @torch.no_grad()
    def targets(self, logits: Tensor, z: Tensor, z_known: Tensor, known: Tensor) -> Tensor:
        """Aligned and smoothed probabilities; the batch, with its labelled images, is added to the bank."""
        probabilities = softmax(logits, 1)
        aligned = probabilities
        if self.marginal is not None:
            self.means.append(probabilities.mean(0))
            running = self.means.stacked.mean(0).clamp(min=1e-8)
            aligned = normalize(probabilities * self.marginal / running, p=1, dim=1)
        smoothed = aligned
        if self.bank.is_full and self.smoothing:
            bank, remembered = (kept.stacked.flatten(0, 1) for kept in (self.bank, self.remembered))
            similar = softmax(z @ bank.T / self.temperature, 1) @ remembered
            smoothed = (1 - self.smoothing) * aligned + self.smoothing * similar
        truth = (known[:, None] == torch.arange(logits.shape[1], device=known.device)).to(aligned.dtype)
        self.bank.append(torch.cat([z, z_known]))
        self.remembered.append(torch.cat([aligned, truth]))
        return smoothed

    @torch.no_grad()
    def weights(self, targets: Tensor) -> Tensor:
        """The weight of each target, from 0 to 1; its confidence updates the running mean and variance."""
        confidence = targets.amax(1)
        center, variance = confidence.mean(), confidence.var(correction=0)
        if self.center is None or self.variance is None:
            self.center, self.variance = center, variance
        else:
            self.center.lerp_(center, 1 - MOMENTUM)
            self.variance.lerp_(variance, 1 - MOMENTUM)
        below = (confidence - self.center).clamp(max=0)
        return torch.exp(-2 * below.square() / self.variance.clamp(min=1e-8))

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        return {
            "bank": self.bank.state(), "remembered": self.remembered.state(), "means": self.means.state(),
            "center": self.center, "variance": self.variance, "marginal": self.marginal,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a :meth:`state`."""
        for kept, values in (
            (self.bank, "bank"), (self.remembered, "remembered"), (self.means, "means"),
        ):  # fmt: skip
            kept.restore(state[values])
        self.center, self.variance, self.marginal = (
            None if state[name] is None else state[name].clone()
            for name in ("center", "variance", "marginal")
        )
