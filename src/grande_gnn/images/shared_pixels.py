"""Buffers for decoded batches in memory that this process and its workers share.

Each worker fills its buffers in turn, so that nothing has to be allocated, sent or copied before the transfer to the GPU.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import torch

__all__ = ["START_METHOD", "SharedPixels", "allocate_pixels"]

START_METHOD = "fork" if sys.platform == "linux" else None
"""How worker processes start; only forked ones share this process's memory. None is the system's default."""
_MAX_BYTES = 8 * 2**30


def allocate_pixels(n_workers: int, n_buffers: int, shape: tuple[int, ...]) -> SharedPixels | None:
    """Shared buffers, or None if workers do not share memory or the system does not have enough of it."""
    if START_METHOD != "fork" or n_workers * n_buffers * int(np.prod(shape)) > _MAX_BYTES:
        return None
    try:
        return SharedPixels(n_workers, n_buffers, shape)
    except OSError:
        return None


class SharedPixels:
    """``n_buffers`` buffers for each of ``n_workers``, each an array of bytes of the given shape.

    A worker has at most p batches in progress or unread, which the pool ensures, and needs p + 2 buffers, because the
    network may still be using the last two batches.
    """

    def __init__(self, n_workers: int, n_buffers: int, shape: tuple[int, ...]) -> None:
        whole = (n_workers, n_buffers, *shape)
        memory = mmap.mmap(-1, int(np.prod(whole)))  # anonymous, so not limited by the size of /dev/shm
        self.pixels = torch.from_numpy(np.frombuffer(memory, dtype=np.uint8).reshape(whole))
        self.n_buffers = n_buffers

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Inside the block, copies to the GPU are asynchronous, unless the driver refuses to pin the memory."""
        runtime = torch.cuda.cudart()
        refused = int(runtime.cudaHostRegister(self.pixels.data_ptr(), self.pixels.numel(), 0))
        if refused:
            with suppress(
                RuntimeError
            ):  # the refusal left a pending error, which the next kernel would report
                torch.zeros(1, device="cuda")
        try:
            yield
        finally:
            if not refused:
                torch.cuda.synchronize()
                runtime.cudaHostUnregister(self.pixels.data_ptr())
