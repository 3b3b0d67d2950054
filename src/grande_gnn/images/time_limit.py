"""Limits of the processor time and memory that reading one file may take.

A worker process that takes longer is ended by the system, whatever its decoder does; the pool reports the file and starts
another worker. In the main process, reading is abandoned the next time the decoder returns to Python.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from grande_gnn.errors import FileFormatError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = ["TIME_LIMIT_S", "TOO_SLOW", "limited", "limited_memory", "limited_or_killed"]

TIME_LIMIT_S = 10.0
"""Processor time, which does not depend on how busy the machine is. The largest photos take about two seconds."""
TOO_SLOW = f"took more than {TIME_LIMIT_S:g} s to read"
"""The reason of such a file in ``problems.csv``."""
_WORKER_BYTES = 768 * 2**20
"""Bytes that a worker may allocate while it reads one file: more than the limit on what a file may declare."""
_HAS_TIMER = hasattr(signal, "setitimer")


@contextmanager
def limited_or_killed() -> Iterator[None]:
    """For worker processes: SIGPROF ends this process when the block takes too long."""
    if not _HAS_TIMER:
        yield
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, TIME_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def limited_memory() -> Iterator[None]:
    """For worker processes: inside the block, allocating too much memory raises MemoryError. One block may read many
    files."""
    before = _limit_memory()
    try:
        yield
    finally:
        if before is not None:
            resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def limited() -> Iterator[None]:
    """For any other process: raise FileFormatError if the block takes too long. It has no effect outside the main thread."""
    if not _HAS_TIMER or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise FileFormatError(TOO_SLOW)

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, TIME_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _limit_memory() -> tuple[int, int] | None:
    """Lower this process's memory limit; returns the previous limit, or None if it was not changed."""
    size = _address_space()
    if size is None:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = size + _WORKER_BYTES
    if soft != resource.RLIM_INFINITY and soft <= wanted:
        return None
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    return soft, hard


def _address_space() -> int | None:
    """Bytes of this process's address space; None if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
