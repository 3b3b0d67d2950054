"""How much memory a training takes, said before anything is allocated."""

from __future__ import annotations

import logging

import torch

from grande_gnn.engine.plan import Settings
from grande_gnn.errors import NotEnoughMemoryError

__all__ = ["available_memory", "predicted_bytes", "replicas_that_fit"]

logger = logging.getLogger(__name__)

_FLOAT = 4


def predicted_bytes(
    n: int, d: int, c: int, hidden: int | None, n_edges: int, hops: int, n_replicas: int, n_repetitions: int
) -> int:
    """Peak bytes of training ``n_replicas`` at once on n × d features with c classes.

    Shared: the features, their rescaled copy, and one masked copy for each repetition. For each replica:
    parameters with gradient and Adam's two moments, hidden activations and their gradient, the K + 1 states
    of the diffusion with six temporaries, and the edge values.
    """
    shared = (2 + n_repetitions + 1) * n * d
    if hidden is None:
        parameters, activations = d * c + c, 2 * n * c
    else:
        parameters, activations = d * hidden + hidden + hidden * c + c, 2 * n * hidden
    states = (hops + 7) * n * c
    edges = 4 * n_edges
    return _FLOAT * (shared + n_replicas * (4 * parameters + activations + states + edges))


def available_memory(device: torch.device) -> int:
    """Free bytes on the device: CUDA's own count, or what the operating system could hand out."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("MemAvailable"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):  # not Linux: be modest
        return 4 * 2**30


def replicas_that_fit(
    sizes: tuple[int, int, int, int | None, int],
    n_replicas: int,
    n_repetitions: int,
    settings: Settings,
    device: torch.device,
) -> int:
    """How many of ``n_replicas`` to train at once within the budget; raises if not even one fits."""
    n, d, c, hidden, n_edges = sizes
    limit = settings.memory_limit or int(0.8 * available_memory(device))

    def need(count: int) -> int:
        return predicted_bytes(n, d, c, hidden, n_edges, settings.hops, count, min(count, n_repetitions))

    if need(1) > limit:
        raise NotEnoughMemoryError(
            f"one training of {n} x {d} features with {c} classes needs about {need(1) / 2**30:.2f} GiB: use fewer "
            f"samples, a smaller hidden layer or a larger memory_limit; got {limit / 2**30:.2f} GiB"
        )
    count = n_replicas
    while need(count) > limit:
        count = max(1, count // 2)
    logger.info(
        "training %d replicas, %d at a time: about %.2f GiB of %.2f GiB on %s",
        n_replicas, count, need(count) / 2**30, limit / 2**30, device,
    )  # fmt: skip
    return count
