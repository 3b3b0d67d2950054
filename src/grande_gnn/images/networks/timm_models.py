"""Networks from timm: the paper's four and any other by its name."""

from __future__ import annotations

import math
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import nn

from grande_gnn.errors import GrandeError, InvalidInputError, MissingDependencyError
from grande_gnn.images.networks.base import Builder, Extractor, make_extractor
from grande_gnn.images.networks.weights import load_weights
from grande_gnn.images.preprocess import Preprocess

__all__ = ["timm_model"]


def timm_model(model: str) -> Builder:
    """A builder of the timm network ``model``: its features before the classification head."""

    def build(name: str, weights: Path | None = None) -> Extractor:
        timm = _import_timm(name)
        network = create_network(timm, model, pretrained=weights is None)
        if weights is not None:
            load_weights(network, weights)
        config = timm.data.resolve_model_data_config(network)
        return make_extractor(name, preprocess_of(config), network)

    return build


def create_network(timm: Any, model: str, *, pretrained: bool) -> nn.Module:
    """The network without its head; its weights are downloaded when they are not in timm's cache."""
    if not timm.is_model(model.split(".")[0]) and not model.startswith("hf-hub:"):
        raise InvalidInputError(
            f"extractor must be pixels, lite0, lite1, lite2, resnet152, senet154, dpn92, vit_b16 or the name "
            f"of a timm model; got {model!r}"
        )
    try:
        return timm.create_model(model, pretrained=pretrained, num_classes=0)
    except Exception as error:  # the hub's client has its own tree of network errors
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise GrandeError(
            f"the weights of {model} could not be downloaded: check the network, or fetch the file elsewhere "
            f"and give it with --weights FILE; got {reason}"
        ) from error


def preprocess_of(config: dict[str, Any]) -> Preprocess:
    """Preprocessing from a timm data configuration."""
    _, height, width = config["input_size"]
    if height != width:
        raise InvalidInputError(f"the extractor's images must be square; got {height} x {width} pixels")
    return Preprocess(
        size=height,
        resize=math.floor(height / config["crop_pct"]),
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        interpolation=config["interpolation"],
        squash=config.get("crop_mode") == "squash",
    )


def _import_timm(name: str) -> Any:
    if find_spec("timm") is None:
        raise MissingDependencyError(
            f'the extractor {name} needs timm: pip install "grande-gnn[timm]"; got no such package '
            "(pixels, lite0, lite1 and lite2 do without)"
        )
    try:
        import_module("timm.data")
        return import_module("timm")
    except Exception as error:  # a torchvision built for another torch fails with RuntimeError
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise MissingDependencyError(
            f"the extractor {name} needs timm, which is installed but does not import, most likely because "
            f"torch and torchvision do not fit together: pip install --upgrade torch torchvision timm gets a "
            f"pair that does, and pixels, lite0, lite1, lite2 do without; got {reason}"
        ) from error
