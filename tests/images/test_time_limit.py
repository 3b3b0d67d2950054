"""Reading one file takes limited time and memory, in a worker and outside."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.images import time_limit
from grande_gnn.images.time_limit import TOO_SLOW, limited, limited_memory, limited_or_killed


def burn() -> None:
    while True:
        pass


def status_of(work) -> int:
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "TIME_LIMIT_S", 0.2)


def test_a_worker_is_ended() -> None:
    def work() -> None:
        with limited_or_killed():
            burn()

    assert status_of(work) == -signal.SIGPROF


def test_a_worker_gets_a_memory_error_and_goes_on() -> None:
    def work() -> None:
        try:
            with limited_memory():
                bytearray(2**30)
        except MemoryError:
            bytearray(2**30)  # outside of the block there is no limit
            os._exit(7)

    assert status_of(work) == 7


def test_time_after_the_block_does_not_count() -> None:
    def work() -> None:
        with limited_or_killed():
            pass
        os._exit(7 if signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0) else 8)

    assert status_of(work) == 7


def test_elsewhere_it_is_an_error() -> None:
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(FileFormatError, match=TOO_SLOW), limited():
        burn()
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0


def test_in_another_thread_nothing_is_changed() -> None:
    done = []

    def work() -> None:
        with limited():
            done.append(signal.getitimer(signal.ITIMER_PROF)[0])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [0]
