"""Worker processes for numbered tasks; a worker that dies is replaced, and the file that it was reading is reported.

Each worker has a pipe and at most ``prefetch`` tasks that are in progress or whose results have not been read yet. Before it
opens a file, it notes the file's position in shared memory, so that this process knows which file a dead worker was reading.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

import torch

from grande_gnn.errors import GrandeError
from grande_gnn.images.shared_pixels import START_METHOD
from grande_gnn.images.time_limit import TOO_SLOW

__all__ = ["NumberedTasks", "run_pool"]

_MOST_DEATHS = 10
"""After this many deaths for other reasons than the time limit, the cause is a lack of memory and no single file."""
_TRIES = 2
"""A file is reported after this many workers died while reading it: one death may be due to another process's memory use."""


class NumberedTasks(Protocol):
    """What the workers do: ``run(number)`` for each number below ``len``."""

    def __len__(self) -> int: ...

    def enter_worker(self, worker: int, positions: Any, n_before: int) -> None:
        """Called once in each worker process.

        The worker sets ``positions[worker]`` to 1 + the position of the file that it reads, and to 0 between files.
        ``n_before`` results have been read from earlier workers with the same number.
        """

    def run(self, number: int, skipped: dict[int, str]) -> Any:
        """The result of a task; a file whose position is in ``skipped`` is not opened, and the reason there is reported."""


@dataclass
class _Worker:
    number: int
    process: Any
    pipe: Connection
    tasks: list[int] = field(default_factory=list)


def run_pool(
    tasks: NumberedTasks, n_workers: int, prefetch: int, *, low_priority: bool = False
) -> Iterator[Any]:
    """Yield the results of all tasks, in the order in which they finish."""
    pool = _Pool(tasks, n_workers, prefetch, low_priority)
    try:
        yield from pool.results()
    finally:
        for worker in pool.workers.values():
            worker.process.kill()
        for worker in pool.workers.values():  # all at once: the system takes tens of milliseconds to end one
            worker.process.join()
            worker.pipe.close()


class _Pool:
    def __init__(self, tasks: NumberedTasks, n_workers: int, prefetch: int, low_priority: bool) -> None:
        self.tasks, self.prefetch, self.low_priority = tasks, prefetch, low_priority
        self.context = multiprocessing.get_context(START_METHOD)
        self.positions = self.context.RawArray(ctypes.c_int64, n_workers)
        self.todo = deque(range(len(tasks)))
        self.skipped: dict[int, str] = {}
        self.deaths: Counter[int] = Counter()
        self.taken: Counter[int] = Counter()
        self.workers: dict[Connection, _Worker] = {}
        for number in range(n_workers):
            self._start(number)

    def results(self) -> Iterator[Any]:
        while any(worker.tasks for worker in self.workers.values()):
            for pipe in wait([pipe for pipe, worker in self.workers.items() if worker.tasks]):
                worker = self.workers[pipe]  # type: ignore[index]
                try:
                    number, result, error = worker.pipe.recv()
                except (EOFError, OSError, pickle.UnpicklingError):
                    self._replace(worker)
                    continue
                if error is not None:
                    raise error
                worker.tasks.remove(number)
                self.taken[worker.number] += 1
                self._feed(worker)
                yield result

    def _start(self, number: int) -> None:
        ours, theirs = self.context.Pipe()
        arguments = (self.tasks, number, self.positions, self.taken[number], theirs, self.low_priority)
        process = self.context.Process(target=_work, args=arguments, daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()  # so that the pipe is closed when the worker ends
        self.workers[ours] = worker = _Worker(number, process, ours)
        self._feed(worker)

    def _feed(self, worker: _Worker) -> None:
        while self.todo and len(worker.tasks) < self.prefetch:
            worker.tasks.append(self.todo.popleft())
            try:
                worker.pipe.send((worker.tasks[-1], self.skipped))
            except OSError:  # it is dead, which results() will notice
                return

    def _replace(self, worker: _Worker) -> None:
        """Start another worker in place of a dead one, and give it the unfinished tasks."""
        worker.process.join()
        worker.pipe.close()
        del self.workers[worker.pipe]
        self._blame(self.positions[worker.number] - 1, worker.process.exitcode)
        self.positions[worker.number] = 0
        self.todo.extendleft(reversed(worker.tasks))
        self._start(worker.number)

    def _blame(self, position: int, status: int) -> None:
        if status == -getattr(signal, "SIGPROF", 0) and position >= 0:
            self.skipped[position] = TOO_SLOW
            return
        self.deaths[position] += 1
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        if position < 0 or self.deaths.total() > _MOST_DEATHS:
            raise GrandeError(
                "a worker process died, most likely because memory ran out: run the command again with fewer --workers "
                f"(finished images are kept); got {how}"
            )
        if self.deaths[position] == _TRIES:
            self.skipped[position] = f"ended the process that read it ({how})"


def _work(
    tasks: NumberedTasks, number: int, positions: Any, n_before: int, pipe: Connection, low_priority: bool
) -> None:
    """The main function of a worker process."""
    _settle_in(low_priority)
    tasks.enter_worker(number, positions, n_before)
    while True:
        try:
            task, skipped = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            result = tasks.run(task, skipped)
        except Exception as error:
            pipe.send((task, None, _sendable(error)))
        else:
            pipe.send((task, result, None))


def _settle_in(low_priority: bool) -> None:
    """Use one thread, ignore Ctrl-C and, on Linux, end together with the main process, even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if low_priority and hasattr(os, "nice"):
        os.nice(5)
    torch.set_num_threads(1)


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return GrandeError(f"a worker process failed; got {type(error).__name__}: {error}")
    return error
