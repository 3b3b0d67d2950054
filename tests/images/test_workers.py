"""Worker processes: batches in any order, pixels in shared buffers, features that do not depend on either."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from grande_gnn.errors import GrandeError, NotEnoughMemoryError
from grande_gnn.images import FeatureStore, extract_features, find_images, load_extractor, workers
from grande_gnn.images.gpu import FixedBatch
from grande_gnn.images.networks import Extractor
from grande_gnn.images.pool import run_pool
from grande_gnn.images.shared_pixels import SharedPixels


@pytest.fixture
def extractor() -> Extractor:
    return load_extractor("pixels")


def features_of(root: Path, extractor: Extractor, store: Path) -> np.ndarray:
    """The features of all good images, computed in this process."""
    return extract_features(find_images(root), extractor, store=store, device="cpu", workers=0).features()


def test_device_path_equals_worker_path(
    class_folders: Path, extractor: Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happens on CUDA, done on the CPU: workers only decode, this process runs the network."""
    (class_folders / "rose" / "1.jpg").write_bytes(b"bad")
    expected = features_of(class_folders, extractor, tmp_path / "other")
    monkeypatch.setattr(workers, "CUDA_BATCH", 3)
    for shared in (False, True):
        tasks = workers.Tasks(find_images(class_folders).paths(), extractor, frozenset(), "cuda", False)
        if shared:
            tasks.buffers = SharedPixels(2, 4, tasks.shape)
        decoded: Any = run_pool(tasks, 2, 2)
        if shared:
            decoded = workers.with_pixels(decoded, tasks.buffers)
        batches = list(workers.run_network(decoded, FixedBatch(extractor, torch.device("cpu"), 3)))
        batches.sort(key=lambda batch: batch.start)
        assert [len(batch.files) for batch in batches] == [3, 3, 2]
        assert (np.concatenate([batch.values for batch in batches]) == expected).all()


def test_buffers_are_filled_again_only_when_they_are_free(
    class_folders: Path, extractor: Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker, eight batches, four buffers, as the data loader is set up for CUDA."""
    expected = features_of(class_folders, extractor, tmp_path)
    monkeypatch.setattr(workers, "CUDA_BATCH", 1)
    tasks = workers.Tasks(find_images(class_folders).paths(), extractor, frozenset(), "cuda", False)
    tasks.buffers = SharedPixels(1, workers.PREFETCH + 2, tasks.shape)
    loader = run_pool(tasks, 1, workers.PREFETCH)
    network = FixedBatch(extractor, torch.device("cpu"), 1)
    batches = list(workers.run_network(workers.with_pixels(loader, tasks.buffers), network))
    assert len(batches) == 8
    assert (np.concatenate([batch.values for batch in batches]) == expected).all()


def test_a_worker_that_dies_is_one_sentence(
    class_folders: Path, extractor: Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "read_image", lambda *arguments: os._exit(9))
    with pytest.raises(GrandeError, match=r"a worker process died.*fewer --workers"):
        extract_features(find_images(class_folders), extractor, store=tmp_path, device="cpu", workers=2)


def test_every_path_is_in_one_batch_whatever_the_number_of_workers(
    class_folders: Path, extractor: Extractor, tmp_path: Path
) -> None:
    paths = find_images(class_folders).paths()
    store = FeatureStore(tmp_path, extractor.identity)
    for n_workers in (0, 1, 3):
        batches = list(workers.run_locally(paths, extractor, store, "cpu", n_workers, False))
        starts = sorted((batch.start, len(batch.files)) for batch in batches)
        assert starts == [(0, 4), (4, 4)]
        assert all(file.is_new and not file.reason for batch in batches for file in batch.files)


def test_images_that_the_store_knows_are_not_decoded(
    class_folders: Path, extractor: Extractor, tmp_path: Path
) -> None:
    features_of(class_folders, extractor, tmp_path)
    store, paths = FeatureStore(tmp_path, extractor.identity), find_images(class_folders).paths()
    (first, second) = workers.run_locally(paths, extractor, store, "cpu", 0, False)
    assert len(first.values) == len(second.values) == 0
    assert not any(file.is_new for file in first.files)
    assert {file.digest for file in [*first.files, *second.files]} == store.digests()


def test_no_paths_no_batches(extractor: Extractor, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path, extractor.identity)
    assert list(workers.run_locally([], extractor, store, "cpu", None, False)) == []


def test_a_full_gpu_is_one_sentence(
    class_folders: Path, extractor: Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.\nMore words.")

    monkeypatch.setattr(workers, "read_image", full)
    with pytest.raises(
        NotEnoughMemoryError, match=r"pixels and a batch of 4.*--device cpu.*got CUDA out of memory\.$"
    ):
        features_of(class_folders, extractor, tmp_path)
