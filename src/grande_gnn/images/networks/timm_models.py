"""Networks from timm: the paper's four, and any other by its name."""

from __future__ import annotations

import math
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import nn

from grande_gnn.errors import GrandeError, InvalidInputError, MissingDependencyError
from grande_gnn.images.networks.extractor import Extractor, make_extractor
from grande_gnn.images.networks.registry import EXTRACTORS, names_without
from grande_gnn.images.networks.weights import load_weights
from grande_gnn.images.preprocess import Preprocess

__all__ = ["build", "create_network", "import_timm", "preprocess_of"]


def build(variant: str, name: str, weights: Path | None = None) -> Extractor:
    """The timm network ``variant``: its features before the classification head."""
    timm = import_timm(name)
    network = create_network(timm, variant, pretrained=weights is None)
    if weights is not None:
        load_weights(network, weights)
    config = timm.data.resolve_model_data_config(network)
    return make_extractor(name, preprocess_of(config), network)


def create_network(timm: Any, model: str, *, pretrained: bool) -> nn.Module:
    """The network without its head; weights that are not in timm's cache are downloaded."""
    if not timm.is_model(model.split(".")[0]) and not model.startswith("hf-hub:"):
        raise InvalidInputError(
            f"extractor must be {', '.join(EXTRACTORS)} or the name of a timm model; got {model!r}"
        )
    try:
        return timm.create_model(model, pretrained=pretrained, num_classes=0)
    except Exception as error:  # the hub's client has many network errors of its own
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise GrandeError(
            f"the weights of {model} could not be downloaded: check the network, or download the file elsewhere "
            f"and pass it with --weights FILE; got {reason}"
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


def import_timm(name: str) -> Any:
    """The package timm; an error tells how to get it for the extractor ``name``."""
    if find_spec("timm") is None and name not in EXTRACTORS:
        raise MissingDependencyError(
            f"the extractor {name} is not one of {', '.join(EXTRACTORS)}; other names are models of timm, which needs: "
            f'pip install "grande-gnn[timm]"; got no package timm'
        )
    if find_spec("timm") is None:
        raise MissingDependencyError(
            f'the extractor {name} needs timm: pip install "grande-gnn[timm]", or use one of '
            f"{', '.join(names_without('timm'))}; got no package timm"
        )
    try:
        import_module("timm.data")
        return import_module("timm")
    except Exception as error:  # a torchvision built for another torch fails with RuntimeError
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise MissingDependencyError(
            f"the extractor {name} needs timm, which is installed but does not import, most likely because "
            f"torch and torchvision do not match: pip install --upgrade torch torchvision timm installs a matching "
            f"pair, and {', '.join(names_without('timm'))} do not need timm; got {reason}"
        ) from error
