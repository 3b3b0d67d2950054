"""Networks through timm, with random weights or a stand-in: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from grande_gnn.errors import GrandeError, InvalidInputError, MissingDependencyError
from grande_gnn.images import EXTRACTORS, load_extractor
from grande_gnn.images.networks import timm_models
from grande_gnn.images.networks.timm_models import create_network, import_timm, preprocess_of

try:
    timm = import_timm("resnet152")
    WHY_NOT = ""
except MissingDependencyError as error:
    timm = None
    WHY_NOT = str(error)

needs_timm = pytest.mark.skipif(timm is None, reason=f"timm does not import: {WHY_NOT}")


@pytest.mark.skipif(timm is not None, reason="timm imports")
@pytest.mark.parametrize("name", ["resnet152", "vit_b16"])
def test_without_timm_the_error_names_the_fix(name: str) -> None:
    with pytest.raises(MissingDependencyError, match=rf"extractor {name} needs timm.*pip install.*lite0"):
        load_extractor(name)


def test_without_timm_an_unknown_name_is_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timm_models, "find_spec", lambda name: None)
    with pytest.raises(
        MissingDependencyError,
        match=r"^the extractor nope is not one of pixels, lite0, .*; other names are models of timm, which needs: "
        r'pip install "grande-gnn\[timm\]"; got no package timm$',
    ):
        load_extractor("nope")


def test_a_timm_that_does_not_import_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr(timm_models, "find_spec", lambda name: object())
    monkeypatch.setattr(timm_models, "import_module", broken)
    with pytest.raises(MissingDependencyError, match=r"torchvision do not match.*pip install --upgrade.*nms"):
        load_extractor("resnet152")


@needs_timm
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model", "n_features"),
    [
        ("resnet152", "resnet152", 2048),
        ("senet154", "legacy_senet154", 2048),
        ("dpn92", "dpn92", 2688),
        ("vit_b16", "vit_base_patch16_224", 768),
    ],
)
def test_feature_sizes(name: str, model: str, n_features: int, tmp_path: Path) -> None:
    network = create_network(timm, model, pretrained=False).eval()
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    extractor = load_extractor(name, tmp_path / "weights.pth")
    (tmp_path / "weights.pth").unlink()  # hundreds of megabytes
    assert extractor.preprocess.size == 224
    pixels = torch.randint(0, 256, (2, 224, 224, 3), dtype=torch.uint8)
    features = extractor(pixels)
    assert features.shape == (2, n_features)
    with torch.inference_mode():
        assert torch.allclose(features, network(extractor.preprocess.normalize(pixels)), rtol=1e-3, atol=1e-4)


@needs_timm
@pytest.mark.slow
def test_vit_gives_its_class_token() -> None:
    network = create_network(timm, "vit_base_patch16_224", pretrained=False).eval()
    images = torch.rand(2, 3, 224, 224)
    with torch.inference_mode():
        tokens = network.forward_features(images)
        assert torch.allclose(network(images), tokens[:, 0], atol=1e-5)


@needs_timm
def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="got 'no_such_network'"):
        load_extractor("no_such_network")


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


def test_the_error_names_what_the_registry_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRACTORS, "mine", EXTRACTORS["pixels"])
    with pytest.raises(
        InvalidInputError, match=r"extractor must be pixels, .*vit_b16, mine or the name of a timm model"
    ):
        create_network(FakeTimm(), "resnet1520", pretrained=True)
    monkeypatch.setattr(timm_models, "find_spec", lambda name: None)
    with pytest.raises(
        MissingDependencyError, match=r"use one of pixels, lite0, lite1, lite2, mine; got no package"
    ):
        load_extractor("resnet152")
