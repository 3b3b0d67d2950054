"""The image itself, reduced to 16 × 16 pixels: the extractor that needs no weights.

Tiny images keep the coarse layout (Torralba, Fergus and Freeman: 80 Million Tiny Images, 2008).
That is enough for digits and textures, not for photographs.
"""

from __future__ import annotations

from pathlib import Path

from torch import nn

from grande_gnn.errors import InvalidInputError
from grande_gnn.images.networks.extractor import Extractor, make_extractor
from grande_gnn.images.preprocess import Preprocess

__all__ = ["build"]


def build(variant: str = "16", name: str = "pixels", weights: Path | None = None) -> Extractor:
    """The whole image as ``variant`` × ``variant`` RGB pixels, scaled to [−1, 1]: 768 features for 16."""
    if weights is not None:
        raise InvalidInputError(f"the extractor {name} has no weights; got {weights}")
    return make_extractor(name, Preprocess(int(variant), int(variant), squash=True), nn.Flatten())
