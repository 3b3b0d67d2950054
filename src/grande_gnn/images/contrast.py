"""A contrastive loss between two graphs over a batch: images with the same pseudo-label should have similar embeddings.

Q is the pseudo-label graph p pᵀ with unit diagonal, without entries below a threshold, and with normalized rows. S is the
embedding graph softmax(z₀·z₁/τ) of two views. The loss is the cross-entropy of S with the targets Q.

Li, Xiong, Hoi: CoMatch: semi-supervised learning with contrastive graph regularization, ICCV 2021.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, normalize

__all__ = ["contrast_loss"]


def contrast_loss(similarity: Tensor, pseudo: Tensor, least: float) -> Tensor:
    """Cross-entropy between the pseudo-label graph Q and the rows of softmax(similarity)."""
    with torch.no_grad():
        Q = (pseudo @ pseudo.T).fill_diagonal_(1)
        Q = normalize(torch.where(least <= Q, Q, torch.zeros_like(Q)), p=1, dim=1)
    return -(Q * log_softmax(similarity, 1)).sum(1).mean()
