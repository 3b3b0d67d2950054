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

__all__ = ["MaskRows", "MaskStream"]

MaskRows = Callable[[slice], NDArray[np.float32]]
"""Gives some rows of one mask."""


class MaskStream:
    """An endless sequence of n × width masks of 0 and 1 on the CPU; an entry is 1 with probability 1 − p."""

    def __init__(self, shape: tuple[int, int], p: float, key: tuple[int, ...]) -> None:
        self.shape, self.p = shape, p
        self._rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([*key, shape[1]])))

    def next(self) -> Tensor:
        """The mask of the next epoch, as float32."""
        return torch.from_numpy(self.draw()(slice(0, self.shape[0])))

    def multiply(self, values: Tensor, out: Tensor, kept: float = 1.0) -> None:
        """``out`` = values ⊙ the mask of the next epoch, with ``kept`` in place of its ones; both on the CPU."""
        mask, source, target = self.draw(kept), values.numpy(), out.numpy()
        for_row_blocks(lambda rows: np.multiply(source[rows], mask(rows), out=target[rows]), source)

    def draw(self, kept: float = 1.0) -> MaskRows:
        """Draw the mask of the next epoch, with ``kept`` in place of its ones.

        Only its bits are in memory until rows of it are asked for.
        """
        n, width = self.shape[0] * self.shape[1], self.shape[1]
        halves = self.p == 0.5
        drawn: NDArray[Any] = (
            _random_bytes(self._rng, (n + 7) // 8)
            if halves
            else self._rng.integers(0, 2**16, size=n, dtype=np.uint16) >= self.p * 2**16
        )

        def of_rows(rows: slice) -> NDArray[np.float32]:
            first, last = rows.start * width, min(rows.stop * width, n)
            ones: NDArray[Any]
            if halves:  # a row may begin inside a byte
                ones = np.unpackbits(drawn[first // 8 : (last + 7) // 8], count=last - first // 8 * 8)[
                    first % 8 :
                ]
            else:
                ones = drawn[first:last]
            mask = ones.astype(np.float32).reshape(-1, width)
            return mask if kept == 1.0 else np.multiply(mask, np.float32(kept), out=mask)

        return of_rows


def _random_bytes(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """The same as ``rng.bytes(count)`` without its three copies, which take most of its time."""
    words = rng.integers(0, 2**32, size=-(-count // 4), dtype=np.uint32)
    return words.astype("<u4", copy=False).view(np.uint8)[:count]
