"""Extractors: networks that turn images into feature vectors, behind one registry.

``EXTRACTORS`` holds the names, and reading it imports no network; any other name is taken as that of a timm model.
"""

from typing import TYPE_CHECKING

from grande_gnn.images.networks.registry import (
    DEFAULT,
    EXTRACTORS,
    Network,
    default_extractor,
    load_extractor,
    load_trainable,
)
from grande_gnn.internal.lazy import lazy_names

if TYPE_CHECKING:
    from grande_gnn.images.networks.extractor import Extractor, make_extractor

__all__ = [
    "DEFAULT",
    "EXTRACTORS",
    "Extractor",
    "Network",
    "default_extractor",
    "load_extractor",
    "load_trainable",
    "make_extractor",
]

_EXTRACTOR = "grande_gnn.images.networks.extractor"
__getattr__, __dir__ = lazy_names(__name__, {"Extractor": _EXTRACTOR, "make_extractor": _EXTRACTOR})
