"""Dropout masks that depend on (seed, repetition, layer, epoch) and on nothing else.

Each repetition has its own stream for each layer shape, so a training sees the same masks alone and in
a batch. One random *bit* decides for p = ½; other probabilities take 16 bits.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

__all__ = ["MaskStream"]


class MaskStream:
    """An endless series of n × width masks of 0 and 1, drawn with probability 1 − p of a 1."""

    def __init__(self, shape: tuple[int, int], p: float, key: tuple[int, ...], device: torch.device) -> None:
        self.shape, self.p, self.device = shape, p, device
        sequence = np.random.SeedSequence([*key, shape[1]])
        if device.type == "cpu":
            self._rng = np.random.Generator(np.random.SFC64(sequence))
        else:
            self._cuda_rng = torch.Generator(device)
            self._cuda_rng.manual_seed(int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1)))

    def next(self) -> Tensor:
        """The mask of the next epoch, as float32."""
        if self.device.type != "cpu":
            mask = torch.empty(self.shape, device=self.device)
            return mask.bernoulli_(1 - self.p, generator=self._cuda_rng)
        n = self.shape[0] * self.shape[1]
        if self.p == 0.5:
            bits = np.unpackbits(np.frombuffer(self._rng.bytes((n + 7) // 8), dtype=np.uint8), count=n)
            return torch.from_numpy(bits.astype(np.float32).reshape(self.shape))
        kept = self._rng.integers(0, 2**16, size=n, dtype=np.uint16) >= self.p * 2**16
        return torch.from_numpy(kept.astype(np.float32).reshape(self.shape))
