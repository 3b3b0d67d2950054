"""The image itself, reduced to 16 × 16 pixels: the extractor that needs no weights.

Tiny images keep what a glance shows (Torralba, Fergus and Freeman: 80 Million Tiny Images, 2008).
That is enough for digits and textures, not for photographs.
"""

from __future__ import annotations

from pathlib import Path

from torch import nn

from grande_gnn.errors import InvalidInputError
from grande_gnn.images.networks.base import Extractor, make_extractor
from grande_gnn.images.preprocess import Preprocess

__all__ = ["pixels"]


def pixels(name: str = "pixels", weights: Path | None = None) -> Extractor:
    """768 features: 16 × 16 pixels in three colours, from −1 to 1, of the whole image."""
    if weights is not None:
        raise InvalidInputError(f"the extractor {name} has no weights; got {weights}")
    return make_extractor(name, Preprocess(16, 16, squash=True), nn.Flatten())
