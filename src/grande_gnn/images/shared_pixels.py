"""Places for decoded batches in memory that this process and its workers share.

Each worker fills its places in turn, so nothing is allocated, sent or copied between a worker and the GPU.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import torch

__all__ = ["WORKERS_BORN_BY", "Slots", "shared_slots"]

WORKERS_BORN_BY = "fork" if sys.platform == "linux" else None
"""How worker processes start; only forked ones have this process's memory. None: the system's own way."""
_MOST_BYTES = 8 * 2**30


def shared_slots(n_workers: int, n_slots: int, shape: tuple[int, ...]) -> Slots | None:
    """Slots, where the system has the memory for them and workers that share it."""
    if WORKERS_BORN_BY != "fork" or n_workers * n_slots * int(np.prod(shape)) > _MOST_BYTES:
        return None
    try:
        return Slots(n_workers, n_slots, shape)
    except OSError:
        return None


class Slots:
    """``n_slots`` places for each of ``n_workers``, each an array of bytes of the given shape.

    A worker with at most p batches under way or unread, which is what the data loader sees to, needs p + 2 places, if
    a batch's pixels are done with before the next but one is asked for.
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
        if refused:
            with suppress(RuntimeError):  # the refusal left an error behind, which the next kernel reports
                torch.zeros(1, device="cuda")
        try:
            yield
        finally:
            if not refused:
                torch.cuda.synchronize()
                runtime.cudaHostUnregister(self.pixels.data_ptr())
