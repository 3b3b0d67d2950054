"""From paths to features, in batches: worker processes decode, the network runs on CPU or CUDA.

On the CPU each worker runs the network itself, on one core: no core waits for another, and an
image's features depend neither on the number of workers nor on what it is batched with.
On CUDA the workers only decode, and this process runs the network while they go on.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, get_worker_info

from grande_gnn.errors import FileFormatError, GrandeError, NotEnoughMemoryError
from grande_gnn.images.gpu import FixedBatch
from grande_gnn.images.networks import Extractor
from grande_gnn.images.read import read_image
from grande_gnn.images.shared_pixels import WORKERS_BORN_BY, Slots, shared_slots
from grande_gnn.images.store import FeatureStore, FileState, digest_file
from grande_gnn.images.thumbnail import thumbnail_jpeg
from grande_gnn.internal.device import resolve_device

__all__ = ["Batch", "FileResult", "Runner", "Tasks", "run_locally", "run_network"]

_CPU_BATCH = 4
"""Small batches stay in a core's cache: measured the fastest of 1, 4, 8, 16 and 32."""
_CUDA_BATCH = 64
"""Fills a GPU, and is small enough that all workers end at about the same time."""
_PREFETCH = 2
"""Batches each worker prepares ahead."""


@dataclass
class FileResult:
    """What became of one file: known already, newly decoded, or unreadable (there is a reason)."""

    state: FileState | None = None
    digest: bytes = b""
    reason: str = ""
    is_new: bool = False
    thumbnail: bytes = b""


@dataclass
class Batch:
    """Some files in order.

    ``values`` has a row for each newly decoded file: first its pixels, in the end its features.
    """

    start: int
    """The position of the first file among all paths."""
    files: list[FileResult]
    values: Any


class Place(NamedTuple):
    """Where in the :class:`Slots` a batch's pixels are."""

    worker: int
    slot: int
    n_images: int


class Runner(Protocol):
    """Somewhere to compute: yields batches with features, in any order."""

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
    """Worker processes on this machine; what ``store`` holds is not decoded again."""
    chosen = resolve_device(device)
    # Asked once: workers that ask the store would wait while it is written.
    known = store.digests() if paths else frozenset[bytes]()
    tasks = Tasks(paths, extractor, known, chosen.type, thumbnails)
    n_workers = min(_n_cores() if workers is None else workers, len(tasks))
    on_cpu = chosen.type == "cpu"
    if n_workers and not on_cpu:
        tasks.slots = shared_slots(n_workers, _PREFETCH + 2, tasks.shape)
    loader: DataLoader[Batch] = DataLoader(
        tasks,
        batch_size=None,
        num_workers=n_workers,
        prefetch_factor=_PREFETCH if n_workers else None,
        collate_fn=_as_it_is,
        worker_init_fn=_start_worker if on_cpu else _start_decoder,
        multiprocessing_context=WORKERS_BORN_BY if n_workers else None,
        in_order=False,  # a batch says where it belongs, so nobody waits for a slow one
    )
    try:
        if on_cpu:
            yield from loader
        else:
            yield from _run_on_gpu(iter(loader), tasks, extractor, chosen)
    except torch.OutOfMemoryError as error:
        raise NotEnoughMemoryError(
            f"the GPU does not hold {extractor.name} and a batch of {tasks.batch_size} images: use --device cpu "
            f"or a smaller extractor; got {str(error).splitlines()[0]}"
        ) from error
    except RuntimeError as error:
        if "exited unexpectedly" not in str(error):
            raise
        raise GrandeError(
            "a worker process died, most likely because memory ran out: run it again with fewer --workers, "
            f"what was extracted is kept; got {str(error).splitlines()[0]}"
        ) from error


class Tasks(Dataset[Batch]):
    """Batch number i of the paths, processed by whoever asks: to features for the CPU, else to pixels."""

    slots: Slots | None = None
    """Where workers put pixels; without it they are sent."""

    def __init__(
        self,
        paths: Sequence[Path],
        extractor: Extractor,
        known: frozenset[bytes],
        device: str,
        thumbnails: bool,
    ) -> None:
        self.paths, self.known, self.thumbnails = paths, known, thumbnails
        self.batch_size = _CPU_BATCH if device == "cpu" else _CUDA_BATCH
        self.preprocess = extractor.preprocess
        self.extractor = extractor if device == "cpu" else None
        self.shape = (self.batch_size, self.preprocess.size, self.preprocess.size, 3)
        self._turn = 0

    def __len__(self) -> int:
        return -(-len(self.paths) // self.batch_size)

    def __getitem__(self, number: int) -> Batch:
        start = number * self.batch_size
        paths = self.paths[start : start + self.batch_size]
        files = [_identify(path) for path in paths]
        place, pixels = self._room()
        n_images = 0
        for path, file in zip(paths, files, strict=True):
            if file.reason or file.digest in self.known:
                continue
            try:
                image = read_image(path, self.preprocess.resize)
            except FileFormatError as error:
                file.reason = str(error)
                continue
            pixels[n_images] = self.preprocess.crop(image)
            file.is_new = True
            file.thumbnail = thumbnail_jpeg(image) if self.thumbnails else b""
            n_images += 1
        if self.extractor is not None and n_images:
            return Batch(start, files, self.extractor(torch.from_numpy(pixels[:n_images])).numpy())
        return Batch(start, files, pixels[:n_images] if place is None else place._replace(n_images=n_images))

    def _room(self) -> tuple[Place | None, NDArray[np.uint8]]:
        """Room for the pixels of a batch: the worker's next place, or new memory."""
        worker = get_worker_info()
        if self.slots is None or worker is None:
            return None, np.empty(self.shape, dtype=np.uint8)
        self._turn += 1
        place = Place(worker.id, self._turn % self.slots.n_slots, 0)
        return place, self.slots.pixels[place.worker, place.slot].numpy()


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
    """The workers have begun to decode; the rest is made ready meanwhile."""
    network = FixedBatch(extractor.to(device), device, tasks.batch_size)
    if tasks.slots is None:
        yield from run_network(batches, network)
        return
    with tasks.slots.pinned():
        yield from run_network(_in_place(batches, tasks.slots), network)


def _in_place(batches: Iterable[Batch], slots: Slots) -> Iterator[Batch]:
    for batch in batches:
        place: Place = batch.values
        batch.values = slots.pixels[place.worker, place.slot, : place.n_images]
        yield batch


def run_network(batches: Iterable[Batch], network: FixedBatch) -> Iterator[Batch]:
    """Replace pixels by features, one batch behind: the GPU works while the batch before is stored."""
    previous: Batch | None = None
    for batch in batches:
        if len(batch.values):
            batch.values = network.start(torch.as_tensor(batch.values))
        if previous is not None:
            yield _answered(previous)
        previous = batch
    if previous is not None:
        yield _answered(previous)


def _answered(batch: Batch) -> Batch:
    if callable(batch.values):
        batch.values = batch.values()
    return batch


def _n_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_worker(_: int) -> None:
    """On Linux: when this program is killed, no worker is left behind at a lock that nobody will open."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def _start_decoder(number: int) -> None:
    """Where all cores decode, the process that feeds the GPU goes first."""
    _start_worker(number)
    if hasattr(os, "nice"):
        os.nice(5)


def _as_it_is(batch: Any) -> Any:
    return batch
