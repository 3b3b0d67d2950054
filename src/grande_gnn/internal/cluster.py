"""Join a Ray cluster, for everything that can run on one."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grande_gnn.errors import GrandeError, InvalidInputError, MissingDependencyError

__all__ = ["fetched", "joined_cluster"]


@contextmanager
def joined_cluster(address: str | None) -> Iterator[Any]:
    """Ray, connected to the cluster at ``address`` (``host:port``); None starts one on this machine.

    A process that has joined a cluster before stays in it.
    """
    try:
        import ray
    except ImportError:
        raise MissingDependencyError(
            'working on a Ray cluster needs Ray: pip install "grande-gnn[ray]"; got no module ray'
        ) from None
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


def fetched(ray: Any, reference: Any, what: str, retries: int, kept: str = "") -> Any:
    """The result of a task; an error of this package that it raised is raised here, any other failure as one sentence.

    Parameters
    ----------
    what : what the task does, for the sentence.
    retries : how often Ray repeats a task whose worker or node was lost.
    kept : what a second run need not do again, for the sentence.
    """
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, GrandeError):
            raise cause from None
        again = f"run the command again ({kept} are kept)" if kept else "run the command again"
        raise GrandeError(
            f"{what} failed {retries + 1} times on the cluster: look at its machines and {again}; "
            f"got {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        ) from error
