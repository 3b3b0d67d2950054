"""Early stopping on validation samples: the result is the epoch with the lowest validation loss, or the last epoch.

The training ends in its second half, as soon as the loss of an epoch is above the mean of the last ``patience`` ones before
it (Fey and Lenssen, Fast Graph Representation Learning with PyTorch Geometric, 2019: their benchmark of citation networks).
They keep the best epoch; Kipf and Welling, who have nearly the same rule, keep the last one (``Settings.best_epoch``).
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from grande_gnn.engine.plain import PlainTraining
from grande_gnn.engine.replica import Settings

__all__ = ["BestEpoch"]


class BestEpoch:
    """Watches a training and restores the parameters of its best epoch."""

    def __init__(self, model: PlainTraining, validation: NDArray[np.int64], settings: Settings) -> None:
        rows = np.flatnonzero(validation >= 0)
        device = model.X.device
        self.rows = torch.from_numpy(rows).to(device)
        self.targets = torch.from_numpy(validation[rows]).to(device)
        self.patience = settings.patience or settings.epochs
        self.earliest = settings.epochs // 2
        self.model = model
        self.losses: list[float] = []
        self.best: dict[str, Tensor] = {}

    def is_over(self) -> bool:
        """Look at the epoch that just ended; True if the training should end with it."""
        logits = self.model.evaluate()[0][0]
        loss = float(F.cross_entropy(logits[self.rows], self.targets))
        before = self.losses[-self.patience :]
        if not self.losses or loss < min(self.losses):
            # Copies, because state_dict returns the live parameters.
            self.best = {name: value.clone() for name, value in self.model.module.state_dict().items()}
        self.losses.append(loss)
        return len(self.losses) > self.earliest and bool(before) and loss > sum(before) / len(before)

    def restore(self) -> None:
        """Give the model the parameters of the best epoch."""
        if self.best:
            self.model.module.load_state_dict(self.best)
