"""Dropout masks that depend on (seed, repetition, layer, epoch) and on nothing else.

Each repetition has its own stream for each layer shape, so a training sees the same masks alone and in
a batch. For p = ½ one random *bit* decides; other probabilities take 16 bits.

The mask of large inputs is made and used block by block, in the cache, and takes no memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grande_gnn.internal.row_blocks import for_row_blocks

__all__ = ["MaskStream"]


class MaskStream:
    """An endless sequence of n × width masks of 0 and 1 on the CPU; an entry is 1 with probability 1 − p."""

    def __init__(self, shape: tuple[int, int], p: float, key: tuple[int, ...]) -> None:
        self.shape, self.p = shape, p
        self._rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([*key, shape[1]])))

    def next(self) -> Tensor:
        """The mask of the next epoch, as float32."""
        return torch.from_numpy(self._drawn()(slice(0, self.shape[0])))

    def multiply(self, values: Tensor, out: Tensor) -> None:
        """``out`` = values ⊙ the mask of the next epoch, both on the CPU."""
        mask, source, target = self._drawn(), values.numpy(), out.numpy()
        for_row_blocks(lambda rows: np.multiply(source[rows], mask(rows), out=target[rows]), source)

    def _drawn(self) -> Callable[[slice], NDArray[np.float32]]:
        """Draw the next mask: a function that gives some rows of it as float32."""
        n, width = self.shape[0] * self.shape[1], self.shape[1]
        halves = self.p == 0.5
        drawn: NDArray[Any] = (
            np.frombuffer(self._rng.bytes((n + 7) // 8), dtype=np.uint8)
            if halves
            else self._rng.integers(0, 2**16, size=n, dtype=np.uint16) >= self.p * 2**16
        )

        def of_rows(rows: slice) -> NDArray[np.float32]:
            first, last = rows.start * width, min(rows.stop * width, n)
            kept: NDArray[Any]
            if halves:  # a row may begin inside a byte
                kept = np.unpackbits(drawn[first // 8 : (last + 7) // 8], count=last - first // 8 * 8)[
                    first % 8 :
                ]
            else:
                kept = drawn[first:last]
            return kept.astype(np.float32).reshape(-1, width)

        return of_rows
