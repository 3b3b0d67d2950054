"""A network on batches of one size: the same features for every batch, recorded on CUDA where that is possible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from grande_gnn.images import extract_features, find_images, load_extractor
from grande_gnn.images.gpu import FixedBatch

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA device: the network is recorded there"
)


@pytest.mark.parametrize("n_images", [1, 2, 3])
def test_part_of_a_batch_gives_its_own_features(n_images: int) -> None:
    extractor = load_extractor("pixels")
    generator = torch.Generator().manual_seed(n_images)
    pixels = torch.randint(0, 256, (n_images, 16, 16, 3), dtype=torch.uint8, generator=generator)
    answer = FixedBatch(extractor, torch.device("cpu"), 3).start(pixels)
    assert (answer() == extractor(pixels).numpy()).all()


def test_the_network_always_sees_the_same_number_of_images() -> None:
    plain, shapes = load_extractor("pixels"), []

    class Counting(torch.nn.Flatten):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            shapes.append(len(images))
            return super().forward(images)

    network = FixedBatch(replace(plain, network=Counting()), torch.device("cpu"), 4)
    for n_images in (4, 1, 3):
        assert network.start(torch.zeros(n_images, 16, 16, 3, dtype=torch.uint8))().shape == (n_images, 768)
    assert shapes == [4, 4, 4]


@needs_cuda
def test_a_network_that_waits_for_the_gpu_is_not_recorded(class_folders: Path, tmp_path: Path) -> None:
    class Waits(torch.nn.Flatten):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            assert images.sum().item() != 0.5
            return super().forward(images)

    plain = load_extractor("pixels")
    waiting = replace(plain, network=Waits(), identity="waits")
    images = find_images(class_folders)
    here, there = (
        extract_features(images, network, store=tmp_path, device="cuda", workers=2).features()
        for network in (plain, waiting)
    )
    assert (here == there).all()


@needs_cuda
@pytest.mark.parametrize("name", ["pixels", "lite0"])
def test_features_from_cuda_agree_with_the_cpu(class_folders: Path, tmp_path: Path, name: str) -> None:
    if name == "lite0":
        pytest.importorskip("efficientnet_lite_pytorch", reason="lite0 is not installed")
    images, network = find_images(class_folders), load_extractor(name)
    here, there = (
        extract_features(images, network, store=tmp_path / device, device=device, workers=2).features()
        for device in ("cpu", "cuda")
    )
    assert np.abs(here - there).max() < 1e-3 * np.abs(here).max()
