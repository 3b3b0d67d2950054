"""How much each member of a committee counts, from held-out labels.

First each member gets a temperature T of its own, softmax(z / T), which minimizes the loss on the held-out labels:
otherwise the weights would reward members for being sure, not for being right. Then the weights w ≥ 0, Σ w = 1, maximize

    Σᵢ log Σ_m w_m p_m(yᵢ)  +  a Σ_m log w_m

with a pseudo-count a that keeps the weights nearly equal if labels are few. Expectation-maximization finds the maximum:
w_m ← (a + Σᵢ w_m p_m(yᵢ) / Σ_k w_k p_k(yᵢ)) / (a M + n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

__all__ = ["PSEUDO_COUNT", "member_temperature", "stacked_weights"]

PSEUDO_COUNT = 25.0
"""The pseudo-count a: as if every member had explained this many labels already."""

SPREAD = 0.5
"""Standard deviation of the prior of log T, which keeps T near 1 if there are few labels."""

Float = NDArray[np.float64]


def member_temperature(logits: Float, labels: NDArray[np.int64]) -> float:
    """The T that minimizes Σ −log p(yᵢ) + (log T / :data:`SPREAD`)² / 2 over held-out labels; 1 if there are none."""
    rows = np.arange(len(labels))

    def cost(log_temperature: float) -> float:
        fit = -log_softmax(logits / np.exp(log_temperature), axis=1)[rows, labels].sum()
        return float(fit + (log_temperature / SPREAD) ** 2 / 2)

    if not len(labels):
        return 1.0
    return float(np.exp(minimize_scalar(cost, bounds=(-3.0, 3.0), method="bounded").x))


def stacked_weights(likelihoods: Float, pseudo_count: float = PSEUDO_COUNT) -> Float:
    """The weights of the members; ``likelihoods`` has one row per held-out label and one column per member.

    >>> stacked_weights(np.empty((0, 4))).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    n, count = likelihoods.shape
    weights = np.full(count, 1 / count)
    for _ in range(200):
        joint = np.maximum(likelihoods, 1e-12) * weights
        responsible = (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
        weights = (responsible + pseudo_count) / (n + count * pseudo_count)
    return weights
