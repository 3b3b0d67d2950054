"""Whether the members of a committee are trained one after the other, or several at a time in threads of one core each.

Members have different graphs, so they cannot share one batch, and a small training hardly gains from a second core. The
caller who wants several at a time is many calls above the loop over members, so the number is a context variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import torch

__all__ = ["for_each_member", "in_threads"]

_threads: ContextVar[int] = ContextVar("member_threads", default=1)

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def in_threads(n_threads: int) -> Iterator[None]:
    """Train so many members at a time inside the ``with`` block."""
    token = _threads.set(n_threads)
    try:
        yield
    finally:
        _threads.reset(token)


def for_each_member(train: Callable[[T], R], members: Iterable[T]) -> list[R]:
    """``train`` of each, in their order."""
    n_threads = _threads.get()
    if n_threads <= 1:
        return [train(member) for member in members]
    usual = torch.get_num_threads()
    try:
        # torch's setting counts for the thread that makes it and for threads that begin later.
        with ThreadPoolExecutor(
            n_threads, "grande-member", initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            return list(pool.map(train, members))
    finally:
        torch.set_num_threads(usual)
