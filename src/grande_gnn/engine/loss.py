"""The labelled samples of all replicas, and the loss on them.

The loss of a replica is the weighted mean of the cross-entropy of its labelled samples, Σ wᵢ ℓᵢ / Σ wᵢ; without weights
it is the plain mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grande_gnn.engine.replica import Replica

__all__ = ["LabelledRows", "label_shares"]


class LabelledRows:
    """The labelled samples of all replicas as one flat list of (replica, row, class)."""

    def __init__(self, replicas: Sequence[Replica], device: torch.device) -> None:
        found = [np.flatnonzero(r.labels >= 0) for r in replicas]
        sizes = np.array([len(f) for f in found])
        targets = np.concatenate([r.labels[f] for r, f in zip(replicas, found, strict=True)])
        self.replica = torch.from_numpy(np.repeat(np.arange(len(replicas)), sizes)).to(device)
        self.row = torch.from_numpy(np.concatenate(found)).to(device)
        self.target = torch.from_numpy(targets).to(device)
        shares = np.concatenate([label_shares(r) for r in replicas])
        self.weight = torch.from_numpy(shares.astype(np.float32)).to(device)
        self._each = torch.arange(len(targets), device=device)

    def gather(self, Z: Tensor) -> Tensor:
        """The labelled rows of (R, n, c) logits."""
        return Z[self.replica, self.row]

    def scatter(self, values: Tensor, out: Tensor) -> Tensor:
        """Write one row per labelled sample into (R, n, c)."""
        out[self.replica, self.row] = values
        return out

    def loss_gradient(self, logits: Tensor) -> Tensor:
        """Gradient of the mean cross-entropy of each replica, summed: (softmax − one-hot) · wᵢ / Σ w."""
        gradient = logits.softmax(1)
        gradient[self._each, self.target] -= 1
        return gradient.mul_(self.weight[:, None])


def label_shares(replica: Replica) -> NDArray[np.float64]:
    """The share of each labelled sample in the mean: wᵢ / Σ w."""
    labelled = replica.labels >= 0
    weights = np.ones(labelled.sum()) if replica.label_weights is None else replica.label_weights[labelled]
    return weights / weights.sum()
