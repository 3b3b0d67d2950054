"""Extract the features of images: find out which are missing in the store, compute them, and store them."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from grande_gnn.errors import FileFormatError
from grande_gnn.images.find import ImageSet
from grande_gnn.images.networks import Extractor
from grande_gnn.images.problems import Problem
from grande_gnn.images.read import read_thumbnail
from grande_gnn.images.store import FeatureStore, FileState, StoredImage
from grande_gnn.images.store_file import DamagedStoreError
from grande_gnn.images.workers import Batch, Runner, run_locally
from grande_gnn.internal.device import DEVICES
from grande_gnn.internal.features_file import write_features
from grande_gnn.internal.validation import check_choice, check_integer

logger = logging.getLogger(__name__)

__all__ = ["Extraction", "Progress", "extract_features"]

Progress = Callable[[int, int], object]
"""Called with the number of finished images and the number of images to extract; the first call is (0, total)."""

_FLUSH_S = 1.0
"""Seconds between two writes to the store: a killed process loses at most this much work, and the batches of its workers."""
_ROUNDS = 2
"""A second round extracts again the images whose rows in the store turned out to be damaged."""
_CHUNK = 1000
"""Files looked up in the store at a time."""


@dataclass(frozen=True)
class Extraction:
    """The images that have features, and the store that keeps the features."""

    images: ImageSet
    """The readable images with their labels; its ``problems`` list the others."""
    digests: list[bytes]
    store: FeatureStore
    n_reused: int
    """How many of the images already had features in the store."""

    @property
    def identity(self) -> str:
        """The identity of the network, which names its store."""
        return self.store.identity

    def features(self) -> NDArray[np.float32]:
        """All features in memory, one row per image, without a second copy of all of them on the way."""
        out, start = np.empty((len(self.digests), 0), dtype=np.float32), 0
        for block in self.store.features(self.digests):
            if not start:
                out = np.empty((len(self.digests), block.shape[1]), dtype=np.float32)
            out[start : start + len(block)] = block
            start += len(block)
        return out

    def thumbnails(self, rows: Sequence[int] | None = None) -> Iterator[Image.Image | None]:
        """Yield thumbnails of 64 × 64 pixels of all images, or of those in ``rows``.

        A thumbnail that is missing in the store is made from the image file and stored; it is None if the file can no longer
        be read.
        """
        wanted = range(len(self.digests)) if rows is None else rows
        for start in range(0, len(wanted), _CHUNK):
            digests = [self.digests[row] for row in wanted[start : start + _CHUNK]]
            kept = dict(zip(digests, self.store.thumbnails(digests), strict=True))
            if not all(kept.values()):
                kept |= self._make_thumbnails(
                    [row for row in wanted[start : start + _CHUNK] if not kept[self.digests[row]]]
                )
            for digest in digests:
                yield _picture(kept[digest])

    def _make_thumbnails(self, rows: Sequence[int]) -> dict[bytes, bytes]:
        paths = self.images.paths()
        with ThreadPoolExecutor() as threads:  # decoders release Python's global lock
            made = list(threads.map(_read_thumbnail, [paths[row] for row in rows]))
        new = {self.digests[row]: data for row, data in zip(rows, made, strict=True) if data}
        self.store.add_thumbnails(new)
        return new

    def save(self, path: str | Path) -> None:
        """Write a features file without loading all features into memory."""
        write_features(path, self.store.features(self.digests), self.images.files, self.images.labels)


def extract_features(
    images: ImageSet,
    extractor: Extractor,
    *,
    store: str | Path | None = None,
    device: str = "auto",
    workers: int | None = None,
    thumbnails: bool = False,
    progress: Progress | bool | None = None,
    runner: Runner = run_locally,
) -> Extraction:
    """Extract the features of all images that the store does not have yet.

    Files that cannot be read are left out of the result and listed in its ``images.problems``.

    Parameters
    ----------
    images : from :func:`~grande_gnn.images.find_images`.
    extractor : from :func:`~grande_gnn.images.load_extractor`.
    store : folder of the feature store; None = ``GRANDE_CACHE`` or the user's cache folder.
    device : ``"cpu"``, ``"cuda"`` or ``"auto"`` (CUDA if there is a GPU).
    workers : processes that decode; None = one per core, 0 = everything in this process.
    thumbnails : store a small picture of each image with its features, for a report; decoding takes a tenth longer.
    progress : a function that is called with the number of finished images and the total, or None. (True draws a
        bar, as in version 0.1; this will be removed in 0.3.)
    runner : computes the features: on this machine by default, or a :class:`~grande_gnn.images.RayRunner`.
    """
    if workers is not None:
        check_integer(workers, name="workers")
    check_choice(device, DEVICES, name="device")
    report = _bar() if progress is True else progress or _no_report

    def extract() -> Extraction:
        kept = FeatureStore(store, extractor.identity)
        return _extract(
            images, kept, lambda paths: runner(paths, extractor, kept, device, workers, thumbnails), report
        )

    try:
        return extract()
    except DamagedStoreError as error:  # it has been set aside
        logger.warning("%s", error)
        return extract()


def _extract(
    images: ImageSet, kept: FeatureStore, run: Callable[[Sequence[Path]], Iterator[Batch]], report: Progress
) -> Extraction:
    paths = [path.absolute() for path in images.paths()]
    digests = _unchanged(paths, kept)
    damaged = kept.remove_damaged(digest for digest in digests if digest is not None)
    missing = [index for index, digest in enumerate(digests) if digest is None or digest in damaged]
    reasons: dict[int, str] = {}
    n_extracted = 0
    for _ in range(_ROUNDS):
        if not missing:
            break
        done = 0
        with _Writer(kept) as writer:
            report(0, len(missing))
            for batch in run([paths[index] for index in missing]):
                for position, file in enumerate(batch.files, start=batch.start):
                    digests[missing[position]], reasons[missing[position]] = file.digest, file.reason
                n_extracted += len(batch.values)
                done += len(batch.files)
                writer.add(batch)
                report(done, len(missing))
        # The same content may already be in the store under another path, and its row may be damaged.
        damaged = kept.remove_damaged(digests[index] or b"" for index in missing if not reasons[index])
        missing = [index for index in missing if not reasons[index] and digests[index] in damaged]
    return _collect(images, digests, reasons, kept, n_extracted)


def _no_report(done: int, total: int) -> None:
    pass


def _bar() -> Progress:
    """The progress bar of version 0.1."""
    from tqdm import tqdm

    text = "progress=True is deprecated: pass a function of the finished images and the total"
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    bars: list[tqdm] = []

    def report(done: int, total: int) -> None:
        if not bars:
            bars.append(tqdm(total=total, unit="image"))
        bars[0].update(done - bars[0].n)
        if done == total:
            bars[0].close()

    return report


def _picture(data: bytes) -> Image.Image | None:
    try:
        return Image.open(BytesIO(data)) if data else None
    except (OSError, ValueError):  # UnidentifiedImageError is an OSError
        return None


def _read_thumbnail(path: Path) -> bytes:
    try:
        return read_thumbnail(path)
    except FileFormatError:
        return b""


class _Writer:
    """Collects finished images and writes them to the store every second, in a thread of its own."""

    def __init__(self, store: FeatureStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._writing: Future[None] | None = None
        self._clear()

    def _clear(self) -> None:
        self._images: list[StoredImage] = []
        self._files: list[tuple[FileState, bytes]] = []
        self._since = time.monotonic()

    def add(self, batch: Batch) -> None:
        new = [file for file in batch.files if file.is_new]
        for file, feature in zip(new, batch.values, strict=True):
            self._images.append(StoredImage(file.digest, file.thumbnail, feature))
        for file in batch.files:
            if file.state is not None and not file.reason:
                self._files.append((file.state, file.digest))
        if time.monotonic() - self._since > _FLUSH_S:
            self._flush()

    def _flush(self) -> None:
        self._wait()  # so that at most two portions are in memory
        self._writing = self._thread.submit(self._store.add, self._images, self._files)
        self._clear()

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()  # raises the error of the writing thread

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._flush()  # also after an error or Ctrl-C, so that finished work is kept
        self._wait()
        self._thread.shutdown()


def _collect(
    images: ImageSet,
    digests: Sequence[bytes | None],
    reasons: dict[int, str],
    store: FeatureStore,
    n_extracted: int,
) -> Extraction:
    good = [index for index in range(len(images)) if not reasons.get(index)]
    bad = [Problem(images.files[index], reason) for index, reason in sorted(reasons.items()) if reason]
    files = [images.files[index] for index in good]
    found = [digest for index in good if (digest := digests[index]) is not None]
    labels, conflicts = _settle_duplicates(files, [images.labels[index] for index in good], found)
    usable = replace(images, files=files, labels=labels, problems=[*images.problems, *bad, *conflicts])
    return Extraction(usable, found, store, len(files) - n_extracted)


def _settle_duplicates(
    files: list[str], labels: list[str], digests: list[bytes]
) -> tuple[list[str], list[Problem]]:
    """Remove the labels of identical images that are labelled differently, because none of them can be trusted."""
    copies: dict[bytes, list[int]] = defaultdict(list)
    for index, digest in enumerate(digests):
        if labels[index]:
            copies[digest].append(index)
    labels, problems = list(labels), []
    for same in copies.values():
        if len({labels[index] for index in same}) > 1:
            named = ", ".join(f"{labels[index]} in {files[index]}" for index in same)
            reason = f"two labels: copies of one image are {named}, so taken as unlabelled"
            problems += [Problem(files[index], reason) for index in same]
            for index in same:
                labels[index] = ""
    return labels, problems


def _unchanged(paths: Sequence[Path], store: FeatureStore) -> list[bytes | None]:
    """The digest of each file that is in the store and has not changed since."""
    if store.is_empty():  # then there is no need to look at every file before the work starts
        return [None] * len(paths)
    digests: list[bytes | None] = []
    for start in range(0, len(paths), _CHUNK):
        digests += store.unchanged([_state(path) for path in paths[start : start + _CHUNK]])
    return digests


def _state(path: Path) -> FileState:
    try:
        return FileState.of(path)
    except OSError:  # the worker that opens it reports the reason
        return FileState(os.fsencode(path), -1, 0, 0)
