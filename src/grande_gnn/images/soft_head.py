"""A linear head fitted to soft labels on frozen features: the starting point of an adaptation.

Minimizes  mean over images of CE(p, softmax(z W + b)) + λ/2 ‖W‖²  with z = (x − mean)/scale, one scale for all features,
and returns W and b for the features x themselves.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

__all__ = ["fit_head"]

PENALTY = 1e-3
"""λ. It is small, because the soft labels of all images are many targets for few classes."""

STEPS = 60
"""Iterations of L-BFGS; more of them hardly change the loss."""


def fit_head(features: Tensor, probabilities: Tensor) -> tuple[Tensor, Tensor]:
    """The weight (classes, features) and bias (classes) of the head, in float32.

    Parameters
    ----------
    features : one row per image.
    probabilities : the soft labels, one row per image.
    """
    x, p = features.detach().double(), probabilities.detach().double()
    mean = x.mean(0)
    scale = (x - mean).square().mean().sqrt().clamp(min=1e-12)
    z = (x - mean) / scale
    W = torch.zeros(p.shape[1], x.shape[1], dtype=x.dtype, device=x.device, requires_grad=True)
    b = torch.zeros(p.shape[1], dtype=x.dtype, device=x.device, requires_grad=True)
    optimizer = torch.optim.LBFGS([W, b], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = -(p * log_softmax(z @ W.T + b, 1)).sum(1).mean() + PENALTY / 2 * W.square().sum()
        value.backward()
        return value

    optimizer.step(loss)  # type: ignore[arg-type]
    weight = W.detach() / scale
    return weight.float(), (b.detach() - weight @ mean).float()
