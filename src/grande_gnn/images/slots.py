"""Places for decoded batches in memory that this process and its workers share.

Each worker fills its places in turn, so nothing is allocated, sent or copied between a worker and the GPU.
"""

from __future__ import annotations

import mmap
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

__all__ = ["Slots", "can_share"]


def can_share() -> bool:
    """Whether workers are born with the memory of this process, as they are on Linux."""
    return multiprocessing.get_start_method() == "fork"


class Slots:
    """``n_slots`` places for each of ``n_workers``, each an array of bytes of the given shape.

    A worker with at most p batches under way or unread needs p + 2 places, if a batch's pixels are done with
    when the next but one has been started.
    """

    def __init__(self, n_workers: int, n_slots: int, shape: tuple[int, ...]) -> None:
        whole = (n_workers, n_slots, *shape)
        memory = mmap.mmap(-1, int(np.prod(whole)))  # anonymous, so not limited by the size of /dev/shm
        self.pixels = torch.from_numpy(np.frombuffer(memory, dtype=np.uint8).reshape(whole))
        self.n_slots = n_slots

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Within it copies to the GPU need not wait; if the driver refuses, they do."""
        runtime = torch.cuda.cudart()
        refused = int(runtime.cudaHostRegister(self.pixels.data_ptr(), self.pixels.numel(), 0))
        try:
            yield
        finally:
            if not refused:
                torch.cuda.synchronize()
                runtime.cudaHostUnregister(self.pixels.data_ptr())
