"""Progress of long work: loops report it, and the caller may listen.

A search for neighbors is many calls below the function that shows a bar, with registered functions in between. So the
listener is a context variable, and not a further argument of each function. Threads that the work starts do not report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "counting", "counting_if_heard", "reporting_to"]

Listener = Callable[[str, int, int], object]
"""Called with a stage, how much of it is done, and how much there is."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def reporting_to(listener: Listener | None) -> Iterator[None]:
    """Report all counted work inside the ``with`` block to ``listener``; None: it is not reported."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def counting(stage: str, total: int) -> Callable[[int], None]:
    """Begin a stage, and return the function that its loop calls with each advance.

    >>> with reporting_to(print):
    ...     advance = counting("train", 200)
    ...     advance(150)
    ...     advance(50)
    train 0 200
    train 150 200
    train 200 200
    """
    listener, done = _listener.get(), 0

    def advance(count: int) -> None:
        nonlocal done
        done = min(total, done + count)
        if listener is not None:
            listener(stage, done, total)

    advance(0)
    return advance


def counting_if_heard(stage: str, total: int) -> Callable[[int], None] | None:
    """The same, or None if nobody listens: for work that a report slows down, such as that of a GPU."""
    return None if _listener.get() is None else counting(stage, total)
