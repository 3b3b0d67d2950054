"""Adam in one pass over each parameter, which can also update a copy of it in half precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import triton
from torch import Tensor

from grande_gnn.engine.cuda.kernels.adam_kernel import adam
from grande_gnn.engine.replica import Settings

__all__ = ["Trained", "TritonAdam"]

_BLOCK = 1024


class Trained(NamedTuple):
    """A parameter with its gradient, which is ``scale`` times too large, and its copy in half precision."""

    parameter: Tensor
    scale: float = 1.0
    copy: Tensor | None = None


class TritonAdam:
    """One kernel per parameter; the number of steps is on the device, so that an epoch can be replayed."""

    def __init__(self, trained: Sequence[Trained], settings: Settings) -> None:
        self.trained, self.settings = trained, settings
        self.moments = [(torch.zeros_like(t.parameter), torch.zeros_like(t.parameter)) for t in trained]
        epochs = torch.arange(1, settings.epochs + 1, dtype=torch.float64)
        corrections = torch.stack([1 / (1 - 0.9**epochs), 1 / (1 - 0.999**epochs)], 1)
        device = trained[0].parameter.device
        self.corrections = corrections.float().to(device)
        self.count = torch.full((1,), -1, dtype=torch.int32, device=device)

    def step(self) -> None:
        """Update every parameter from its gradient."""
        self.count += 1
        for (parameter, scale, copy), (mean, square) in zip(self.trained, self.moments, strict=True):
            size = parameter.numel()
            adam[(triton.cdiv(size, _BLOCK),)](
                parameter, parameter.grad, mean, square, parameter if copy is None else copy, self.corrections,
                self.count, size, self.settings.lr, self.settings.weight_decay, 1 / scale,
                COPIES=copy is not None, BLOCK=_BLOCK,
            )  # fmt: skip
