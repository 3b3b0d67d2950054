"""Dropout masks that depend on (seed, repetition, layer, epoch) and on nothing else.

Each repetition has its own stream for each layer shape, so a training sees the same masks alone and in
a batch. For p = ½ one random *bit* decides; other probabilities take 16 bits.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

__all__ = ["MaskStream"]


class MaskStream:
    """An endless sequence of n × width masks of 0 and 1 on the CPU; an entry is 1 with probability 1 − p."""

    def __init__(self, shape: tuple[int, int], p: float, key: tuple[int, ...]) -> None:
        self.shape, self.p = shape, p
        self._rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([*key, shape[1]])))

    def next(self) -> Tensor:
        """The mask of the next epoch, as float32."""
        n = self.shape[0] * self.shape[1]
        if self.p == 0.5:
            bits = np.unpackbits(np.frombuffer(self._rng.bytes((n + 7) // 8), dtype=np.uint8), count=n)
            return torch.from_numpy(bits.astype(np.float32).reshape(self.shape))
        kept = self._rng.integers(0, 2**16, size=n, dtype=np.uint16) >= self.p * 2**16
        return torch.from_numpy(kept.astype(np.float32).reshape(self.shape))
