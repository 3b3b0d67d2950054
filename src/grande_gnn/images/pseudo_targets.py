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

from collections import deque

import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot, softmax

__all__ = ["PseudoTargets"]

WINDOW = 32
"""Batches over which the mean prediction is taken."""

REMEMBERED = 5
"""Batches in the memory bank."""

SMOOTHING = 0.1
"""The weight of similar images in a pseudo-label."""

MOMENTUM = 0.95
"""Momentum of the running mean and variance of the confidence: they cover about twenty batches."""


class PseudoTargets:
    """Computes pseudo-labels and their weights, and keeps the running statistics that they depend on."""

    def __init__(self, marginal: Tensor | None, temperature: float, smoothing: float = SMOOTHING) -> None:
        self.marginal, self.temperature, self.smoothing = marginal, temperature, smoothing
        self.bank: deque[tuple[Tensor, Tensor]] = deque(maxlen=REMEMBERED)
        self.means: deque[Tensor] = deque(maxlen=WINDOW)
        self.center: Tensor | None = None
        self.variance: Tensor | None = None

    @torch.no_grad()
    def targets(self, logits: Tensor, z: Tensor, z_known: Tensor, known: Tensor) -> Tensor:
        """Aligned and smoothed probabilities; the batch, with its labelled images, is added to the bank."""
        probabilities = softmax(logits, 1)
        aligned = probabilities
        if self.marginal is not None:
            self.means.append(probabilities.mean(0))
            running = torch.stack(tuple(self.means)).mean(0).clamp(min=1e-8)
            aligned = normalize(probabilities * self.marginal / running, p=1, dim=1)
        smoothed = aligned
        if len(self.bank) == self.bank.maxlen and self.smoothing:
            bank, remembered = (torch.cat(parts) for parts in zip(*self.bank, strict=True))
            similar = softmax(z @ bank.T / self.temperature, 1) @ remembered
            smoothed = (1 - self.smoothing) * aligned + self.smoothing * similar
        truth = one_hot(known, logits.shape[1]).to(aligned.dtype)
        self.bank.append((torch.cat([z, z_known]), torch.cat([aligned, truth])))
        return smoothed

    @torch.no_grad()
    def weights(self, targets: Tensor) -> Tensor:
        """The weight of each target, from 0 to 1; its confidence updates the running mean and variance."""
        confidence = targets.amax(1)
        center, variance = confidence.mean(), confidence.var(correction=0)
        if self.center is None or self.variance is None:
            self.center, self.variance = center, variance
        else:
            self.center = self.center.lerp(center, 1 - MOMENTUM)
            self.variance = self.variance.lerp(variance, 1 - MOMENTUM)
        below = (confidence - self.center).clamp(max=0)
        return torch.exp(-2 * below.square() / self.variance.clamp(min=1e-8))
