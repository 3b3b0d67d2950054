"""Freed memory stays in the process while a training runs on the CPU.

Every epoch allocates and frees the same large arrays. glibc's malloc returns such arrays to the system and requests
them again, and the system clears them page by page: a quarter of the time of an epoch of 100,000 samples
(benchmarks/README.md).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["freed_memory_kept"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # constants of malloc.h
_TRAINING = 2**30
_OTHERWISE = 32 * 2**20
"""The value that glibc itself arrives at once a program has freed an array of that size."""


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep up to a gibibyte of freed memory inside the block and return it at the end; does nothing without glibc."""
    try:
        libc = ctypes.CDLL(None)
        mallopt, trim = libc.mallopt, libc.malloc_trim
    except (AttributeError, OSError, TypeError):  # macOS, musl, Windows
        yield
        return
    # Older versions of glibc refuse a threshold above 32 MiB, and setting any threshold ends its own adjustment.
    if not mallopt(_MMAP_THRESHOLD, _TRAINING):
        mallopt(_MMAP_THRESHOLD, _OTHERWISE)
    mallopt(_TRIM_THRESHOLD, _TRAINING)
    try:
        yield
    finally:
        for setting in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            mallopt(setting, _OTHERWISE)
        trim(0)
