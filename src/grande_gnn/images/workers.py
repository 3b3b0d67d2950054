"""From paths to features, in batches: worker processes decode, and the network runs on CPU or CUDA.

On the CPU each worker runs the network itself, on one core: no core waits for another, and an
image's features depend neither on the number of workers nor on the rest of its batch.
On CUDA the workers only decode, and this process runs the network at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, NotEnoughMemoryError
from grande_gnn.images.gpu import FixedBatch
from grande_gnn.images.networks import Extractor
from grande_gnn.images.pool import run_pool
from grande_gnn.images.read import read_image, thumbnail_jpeg
from grande_gnn.images.shared_pixels import SharedPixels, allocate_pixels
from grande_gnn.images.store import FeatureStore, FileState, digest_file
from grande_gnn.images.time_limit import limited, limited_memory, limited_or_killed
from grande_gnn.internal.device import resolve_device

__all__ = [
    "CPU_BATCH",
    "CUDA_BATCH",
    "PREFETCH",
    "Batch",
    "FileResult",
    "Runner",
    "Tasks",
    "run_locally",
    "run_network",
    "with_pixels",
]

CPU_BATCH = 4
"""Small batches stay in a core's cache; this size was the fastest measured."""
CUDA_BATCH = 64
"""Large enough to fill a GPU, and small enough that all workers finish at about the same time."""
PREFETCH = 2
"""Batches that each worker prepares in advance."""


@dataclass
class FileResult:
    """The result for one file: it was in the store, it was decoded (``is_new``), or it is unreadable (``reason``)."""

    state: FileState | None = None
    digest: bytes = b""
    reason: str = ""
    is_new: bool = False
    thumbnail: bytes = b""


@dataclass
class Batch:
    """Some files in order.

    ``values`` has one row per newly decoded file: first its pixels, later its features.
    """

    start: int
    """The position of the first file among all paths."""
    files: list[FileResult]
    values: Any


class Place(NamedTuple):
    """Where in the :class:`SharedPixels` a batch's pixels are."""

    worker: int
    buffer: int
    n_images: int


class Runner(Protocol):
    """Computes features somewhere: yields batches with features, in any order."""

    def __call__(
        self,
        paths: Sequence[Path],
        extractor: Extractor,
        store: FeatureStore,
        device: str,
        workers: int | None,
        thumbnails: bool,
    ) -> Iterator[Batch]: ...


def run_locally(
    paths: Sequence[Path],
    extractor: Extractor,
    store: FeatureStore,
    device: str,
    workers: int | None,
    thumbnails: bool,
) -> Iterator[Batch]:
    """Extract with worker processes on this machine; images that are in ``store`` are not decoded again."""
    chosen = resolve_device(device)
    # Read once: workers that read the store would have to wait while it is written.
    known = store.digests() if paths else frozenset[bytes]()
    tasks = Tasks(paths, extractor, known, chosen.type, thumbnails)
    n_workers = min(_n_cores() if workers is None else workers, len(tasks))
    on_cpu = chosen.type == "cpu"
    if n_workers and not on_cpu:
        tasks.buffers = allocate_pixels(n_workers, PREFETCH + 2, tasks.shape)
    # Decoders for a GPU have a low priority: all cores decode, and the process that feeds the GPU must not wait.
    batches = (
        run_pool(tasks, n_workers, PREFETCH, low_priority=not on_cpu)
        if n_workers
        else (tasks[number] for number in range(len(tasks)))
    )
    try:
        if on_cpu:
            yield from batches
        else:
            yield from _run_on_gpu(batches, tasks, extractor, chosen)
    except torch.OutOfMemoryError as error:
        raise NotEnoughMemoryError(
            f"the GPU has not enough memory for {extractor.name} and a batch of {tasks.batch_size} images: use "
            f"--device cpu or a smaller extractor; got {str(error).splitlines()[0]}"
        ) from error


class Tasks:
    """Batches of the paths: item i decodes batch i, and on the CPU also computes its features."""

    buffers: SharedPixels | None = None
    """Where workers put pixels; without shared buffers, pixels are sent to the main process."""
    worker: int | None = None
    """The number of this worker process; None in the main process."""
    positions: Any = None
    """Shared with the main process: the position of the file that each worker is reading."""

    def __init__(
        self,
        paths: Sequence[Path],
        extractor: Extractor,
        known: frozenset[bytes],
        device: str,
        thumbnails: bool,
    ) -> None:
        self.paths, self.known, self.thumbnails = paths, known, thumbnails
        self.batch_size = CPU_BATCH if device == "cpu" else CUDA_BATCH
        self.preprocess = extractor.preprocess
        self.extractor = extractor if device == "cpu" else None
        self.shape = (self.batch_size, self.preprocess.size, self.preprocess.size, 3)
        self._turn = 0

    def __len__(self) -> int:
        return -(-len(self.paths) // self.batch_size)

    def enter_worker(self, worker: int, positions: Any, n_before: int) -> None:
        """Called at the start of a worker process; see :class:`~grande_gnn.images.pool.NumberedTasks`."""
        self.worker, self.positions, self._turn = worker, positions, n_before

    def __getitem__(self, number: int) -> Batch:
        return self.run(number, {})

    def run(self, number: int, skipped: Mapping[int, str]) -> Batch:
        """Batch number ``number``; a file whose position is in ``skipped`` is not opened, and the reason there is
        reported."""
        start = number * self.batch_size
        paths = self.paths[start : start + self.batch_size]
        files = [_identify(path) for path in paths]
        place, pixels = self._next_buffer()
        n_images = 0
        with nullcontext() if self.worker is None else limited_memory():
            for position, (path, file) in enumerate(zip(paths, files, strict=True), start=start):
                file.reason = file.reason or skipped.get(position, "")
                if not file.reason and file.digest not in self.known:
                    file.is_new = self._read(position, path, file, pixels[n_images])
                    n_images += file.is_new
        if self.extractor is not None and n_images:
            return Batch(start, files, self.extractor(torch.from_numpy(pixels[:n_images])).numpy())
        return Batch(start, files, pixels[:n_images] if place is None else place._replace(n_images=n_images))

    def _read(self, position: int, path: Path, file: FileResult, pixels: NDArray[np.uint8]) -> bool:
        """Read one file into ``pixels``; if that fails, return False and set the reason in ``file``."""
        try:
            with self._limited(position):
                image = read_image(path, self.preprocess.resize)
                pixels[:] = self.preprocess.crop(image)
                file.thumbnail = thumbnail_jpeg(image) if self.thumbnails else b""
        except FileFormatError as error:
            file.reason = str(error)
            return False
        return True

    @contextmanager
    def _limited(self, position: int) -> Iterator[None]:
        """Limit time and memory inside the block, which reads the file at this position."""
        if self.worker is None:
            with limited():
                yield
            return
        self.positions[self.worker] = position + 1
        try:
            with limited_or_killed():
                yield
        finally:
            self.positions[self.worker] = 0

    def _next_buffer(self) -> tuple[Place | None, NDArray[np.uint8]]:
        """Memory for the pixels of a batch: the worker's next shared buffer, or a new array."""
        if self.buffers is None or self.worker is None:
            return None, np.empty(self.shape, dtype=np.uint8)
        self._turn += 1
        place = Place(self.worker, self._turn % self.buffers.n_buffers, 0)
        return place, self.buffers.pixels[place.worker, place.buffer].numpy()


def _identify(path: Path) -> FileResult:
    try:
        return FileResult(FileState.of(path), digest_file(path))
    except PermissionError:
        return FileResult(reason="no permission to read it")
    except OSError as error:
        return FileResult(reason=f"cannot be opened: {error.strerror}")


def _run_on_gpu(
    batches: Iterator[Batch], tasks: Tasks, extractor: Extractor, device: torch.device
) -> Iterator[Batch]:
    """Run the network on the batches that the workers have decoded."""
    # The workers are already decoding while the network is prepared.
    network = FixedBatch(extractor.to(device), device, tasks.batch_size)
    if tasks.buffers is None:
        yield from run_network(batches, network)
        return
    with tasks.buffers.pinned():
        yield from run_network(with_pixels(batches, tasks.buffers), network)


def with_pixels(batches: Iterable[Batch], buffers: SharedPixels) -> Iterator[Batch]:
    """Replace the values of batches, which are places in the shared buffers, by the pixels there."""
    for batch in batches:
        place: Place = batch.values
        batch.values = buffers.pixels[place.worker, place.buffer, : place.n_images]
        yield batch


def run_network(batches: Iterable[Batch], network: FixedBatch) -> Iterator[Batch]:
    """Replace pixels by features, one batch late, so that the GPU works while the previous batch is stored."""
    previous: Batch | None = None
    for batch in batches:
        if len(batch.values):
            batch.values = network.start(torch.as_tensor(batch.values))
        if previous is not None:
            yield _finished(previous)
        previous = batch
    if previous is not None:
        yield _finished(previous)


def _finished(batch: Batch) -> Batch:
    if callable(batch.values):
        batch.values = batch.values()
    return batch


def _n_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
