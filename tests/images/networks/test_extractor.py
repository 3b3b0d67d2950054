"""An extractor: a network, its preprocessing, and an identity that tells it from all others."""

from __future__ import annotations

import torch

from grande_gnn.images.networks import make_extractor
from grande_gnn.images.preprocess import Preprocess


def test_features_are_those_of_the_normalized_pixels() -> None:
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 4 * 4, 5).half().float())
    extractor = make_extractor("mine", Preprocess(4, 4), network)
    pixels = torch.randint(0, 256, (3, 4, 4, 3), dtype=torch.uint8)
    expected = network(((pixels / 255 - 0.5) / 0.5).permute(0, 3, 1, 2))
    features = extractor(pixels)
    assert torch.allclose(features, expected, atol=1e-6)
    assert features.dtype == torch.float32
    assert not features.requires_grad
    assert extractor.network is network
    assert not network.training


def test_a_copy_on_a_device_is_a_copy() -> None:
    network = torch.nn.Linear(2, 2)
    moved = make_extractor("mine", Preprocess(4, 4), network).to(torch.device("cpu"))
    assert moved.network is not network
    assert torch.equal(moved.network.weight, network.weight)


def test_identity_tells_name_weights_and_preprocessing_apart() -> None:
    def identity(name: str = "x/y", size: int = 8, weight: float = 1.0) -> str:
        network = torch.nn.Linear(2, 2)
        torch.nn.init.constant_(network.weight, weight)
        torch.nn.init.zeros_(network.bias)
        return make_extractor(name, Preprocess(size, 8), network).identity

    assert identity() == identity()
    assert len({identity(), identity(name="z"), identity(size=7), identity(weight=2.0)}) == 4
    assert "/" not in identity()
