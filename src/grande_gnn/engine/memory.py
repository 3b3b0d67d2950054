"""How much memory a training takes, predicted before anything is allocated, and how much there is."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from grande_gnn.engine.cpu.kernels import GATHERED_BYTES
from grande_gnn.engine.cpu.transform import LONGEST_RUN
from grande_gnn.engine.replica import Settings
from grande_gnn.errors import NotEnoughMemoryError
from grande_gnn.internal.row_blocks import LARGEST_BLOCK

__all__ = [
    "Sizes",
    "address_space_left",
    "available_memory",
    "bytes_left",
    "predicted_bytes",
    "replicas_that_fit",
]

logger = logging.getLogger(__name__)

_CPU_FIXED, _CUDA_FIXED = 8 * 2**20, 128 * 2**20
"""What any batch takes; on CUDA half of it is two workspaces of the matrix library."""
_CACHED_BYTES = 8 * 2**20
"""Size of one (n, R, c) array up to which the CPU's hops are fast: a few of them fit its last-level cache."""
_WIDE_ENOUGH = 512
"""Number of columns beyond which a wider matrix product is not faster."""


@dataclass(frozen=True)
class Sizes:
    """The numbers that the memory of a batch depends on."""

    n: int
    d: int
    c: int
    hidden: int | None
    n_edges: int
    hops: int
    replicas: int
    repetitions: int  # 0 without dropout
    labelled: int = 0  # if the features are diffused once: rows of all label sets, the only ones trained on
    fused: bool = True  # on CUDA: whether the Triton kernels are used
    half: bool = False  # on CUDA, with the Triton kernels: whether large arrays are float16


def predicted_bytes(sizes: Sizes, device: str) -> int:
    """Peak bytes of training one batch.

    Shared by the batch: the features and their masked copies. Per replica: parameters with gradient and Adam's two
    moments; the hidden layer; the states of the diffusion with their temporaries; one number per pair.
    """
    s = sizes
    pairs = (s.n_edges - s.n) // 2
    wide = s.n * s.c
    hidden = s.n * (s.hidden or 0)
    parameters = s.d * s.c + s.c if s.hidden is None else s.d * s.hidden + s.hidden + s.hidden * s.c + s.c
    constant = _CUDA_FIXED if device == "cuda" else _CPU_FIXED
    if s.labelled:
        # The features; their diffusion; a temporary or the labelled rows; logits and their copy.
        shared = (2 * s.n + max(s.n, s.labelled)) * s.d + s.n_edges
        return 4 * (shared + s.replicas * (4 * parameters + 3 * wide)) + constant
    if device == "cuda" and s.fused:
        # The features, padded, and their transpose or two masked copies per repetition; the graph; d ⊙ states and their
        # gradients; H⁽⁰⁾, Z, the gradient for the head, which a linear head transposes, and a temporary.
        short = 2 if s.half else 4
        from_inputs = short if s.hidden is not None else 4
        copies = 1 + 2 * s.repetitions if s.repetitions else 2
        shared = 4 * s.n * s.d + from_inputs * copies * s.n * s.d + 16 * s.n_edges
        if s.hidden is not None:
            # Masks as bytes, and partial sums of W₂'s gradient over 256 samples, enough to fill the device.
            longest = s.replicas // max(1, s.repetitions)
            shared += hidden * s.repetitions + 4 * s.hidden * s.c * min(s.n * longest // 256, 1024 + longest)
        weights = 16 * parameters + (2 * parameters if s.half and s.hidden is not None else 0)
        floats = 5 if s.hidden is None else 4
        flow = short * (2 * s.hops + 1) * wide + 4 * (floats * wide + pairs + 4 * s.n)
        return shared + s.replicas * (weights + short * hidden + flow) + constant
    # The features, masked per repetition, and one mask, of which the CPU makes blocks only if it is large; the gradient of
    # one run's hidden layer; the states and their temporaries, with the freed ones that the allocator keeps
    # (``malloc.py``); numbers of the pairs; values and columns of the replicas' own adjacency, or on CUDA what is gathered
    # at once, and its product.
    inputs = s.n * s.d
    shared = inputs * (1 + s.repetitions)
    if s.repetitions:
        at_once = inputs if device == "cuda" else min(inputs, LARGEST_BLOCK)
        shared += at_once * 5 // 4 + inputs // 32
    shared += hidden * min(s.replicas, LONGEST_RUN)
    if device == "cuda":
        each = s.n_edges * s.c
        shared += 2 * min(s.replicas * each, max(each, GATHERED_BYTES // 4))
    flow = (s.hops + 8) * wide + 4 * pairs + 4 * s.n_edges + 6 * s.n
    return 4 * (shared + s.replicas * (4 * parameters + hidden + flow)) + constant


def available_memory(device: torch.device) -> int:
    """Free bytes on the device: what CUDA reports, or what the operating system and the limits of a container leave."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("MemAvailable"))
        return min(int(line.split()[1]) * 1024, bytes_left(), address_space_left())
    except (OSError, StopIteration):  # not Linux
        return _half_of_all_memory()


def _half_of_all_memory() -> int:
    """A cautious guess for systems that do not report what is free."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):  # Windows
        return 4 * 2**30


def bytes_left(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> int:
    """The memory that a container or batch system leaves to this process (Linux's control groups).

    The smallest remainder of all groups around the process; a very large number if none has a limit.
    """
    left = [sys.maxsize]
    with suppress(OSError):
        for line in membership.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds in ("", "memory"):
                top, group = root / kinds, root / kinds / path.lstrip("/")
                left += [_left(folder) for folder in (group, *group.parents) if folder.is_relative_to(top)]
    return max(0, min(left))


def address_space_left(status: Path = Path("/proc/self/statm")) -> int:
    """What a limit of this process's address space (``ulimit -v``) leaves; a very large number if there is none.

    Mapped libraries count too, so it is less than the limit minus the memory in use.
    """
    try:
        import resource
    except ImportError:  # Windows
        return sys.maxsize

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or not status.exists():  # macOS does not enforce such limits
        return sys.maxsize
    return max(0, limit - int(status.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE"))


def _left(group: Path) -> int:
    """Limit minus usage; cached files can be dropped and do not count."""
    for limit, usage, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),  # groups of version 1
    ):
        with suppress(OSError, ValueError):  # there is no such file, or the limit is "max"
            used = int((group / usage).read_text())
            lines = (group / "memory.stat").read_text().splitlines()
            used -= sum(int(number) for name, number in map(str.split, lines) if name == cached)
            return int((group / limit).read_text()) - used
    return sys.maxsize


def replicas_that_fit(sizes: Sizes, settings: Settings, device: torch.device) -> int:
    """How many of ``sizes.replicas`` to train at once within the budget; raises if not even one fits."""
    limit = settings.memory_limit or int(0.8 * available_memory(device))

    def need(count: int) -> int:
        batch = replace(sizes, replicas=count, repetitions=min(count, sizes.repetitions))
        return predicted_bytes(batch, device.type)

    if need(1) > limit:
        raise NotEnoughMemoryError(
            f"one training of {sizes.n} x {sizes.d} features with {sizes.c} classes needs about "
            f"{need(1) / 2**30:.3g} GiB: use fewer samples, a smaller hidden layer or a larger memory_limit; "
            f"got {limit / 2**30:.3g} GiB"
        )
    n_batches = -(-sizes.replicas // _most_at_once(sizes, device))
    while need(-(-sizes.replicas // n_batches)) > limit:
        n_batches += 1
    count = -(-sizes.replicas // n_batches)
    logger.info(
        "training %d replicas on %s, %d at a time: about %.3g GiB of the %.3g GiB available",
        sizes.replicas, device, count, need(count) / 2**30, limit / 2**30,
    )  # fmt: skip
    return count


def _most_at_once(sizes: Sizes, device: torch.device) -> int:
    """The number of replicas beyond which a CPU batch only outgrows the cache."""
    if device.type != "cpu":
        return sizes.replicas
    return max(1, _CACHED_BYTES // (4 * sizes.n * sizes.c), _WIDE_ENOUGH // sizes.c)
