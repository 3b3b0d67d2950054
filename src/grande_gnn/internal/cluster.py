"""Join a Ray cluster, for everything that can run on one."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grande_gnn.errors import InvalidInputError, MissingDependencyError

__all__ = ["joined_cluster"]


@contextmanager
def joined_cluster(address: str | None) -> Iterator[Any]:
    """Ray, connected to the cluster at ``address`` (``host:port``); None = one on this machine.

    A process that has joined a cluster before stays in it.
    """
    try:
        import ray
    except ImportError:
        raise MissingDependencyError('a Ray cluster needs: pip install "grande-gnn[ray]"') from None
    if ray.is_initialized():
        yield ray
        return
    try:
        host, _, port = (address or "").rpartition(":")
        if port.isdigit() and "//" not in host:  # Ray itself keeps trying for many minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except OSError as error:
        raise InvalidInputError(
            "no Ray cluster answers: start one with `ray start --head` (if it has a token, set RAY_AUTH_MODE "
            "and RAY_AUTH_TOKEN here too), or leave the address out for this machine alone; "
            f"got address {address!r} ({error})"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()
