"""Features of several networks side by side: each network's rows are scaled to length 1, so that none outweighs another.

``lite0+lite2`` names two extractors. Each has its own feature store, so nothing is extracted again if one of them is used
alone later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.images.extract import Extraction, extract_features
from grande_gnn.images.find import ImageSet
from grande_gnn.images.networks import Extractor, load_extractor

__all__ = ["SideBySide", "extract_parts", "join_extractions", "load_parts", "unit_rows"]

PLUS = "+"
"""Joins the names of extractors whose features are put side by side."""


@dataclass(frozen=True)
class SideBySide(Extraction):
    """The features of several extractions of the same images; thumbnails and problems are taken from the first."""

    others: tuple[Extraction, ...] = ()

    def features(self) -> NDArray[np.float32]:
        """All features in memory, one row per image, the first network's columns first."""
        parts = [super().features(), *(other.features() for other in self.others)]
        return np.concatenate([unit_rows(part) for part in parts], axis=1)

    @property
    def identity(self) -> str:
        """The identities of all networks."""
        return PLUS.join([self.store.identity, *(other.identity for other in self.others)])


def unit_rows(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row divided by its length; rows of zeros stay as they are.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return np.divide(features, lengths, out=np.zeros_like(features), where=lengths > 0)


def load_parts(name: str, weights: str | Path | None = None) -> list[Extractor]:
    """The extractors whose names are joined by ``+`` in ``name``; a list of one if there is no ``+``."""
    names = name.split(PLUS)
    if len(names) > 1 and weights is not None:
        raise InvalidInputError(
            f"a file of weights belongs to one extractor: name one of them, or leave --weights out; got {name} and {weights}"
        )
    if len(set(names)) < len(names) or not all(names):
        raise InvalidInputError(f"extractors that are joined with + must be different; got {name!r}")
    return [load_extractor(part, weights) for part in names]


def extract_parts(images: ImageSet, parts: Sequence[Extractor], **options: Any) -> Extraction:
    """Call :func:`~grande_gnn.images.extract_features` with each extractor, and put the features side by side."""
    found = [extract_features(images, part, **options) for part in parts]
    return join_extractions(found)


def join_extractions(extractions: Sequence[Extraction]) -> Extraction:
    """Combine several extractions of the same images into one."""
    first, *others = extractions
    if not others:
        return first
    if any(other.digests != first.digests for other in others):
        raise InvalidInputError(
            "the images changed while their features were extracted: run the command again; got other files later"
        )
    reused = min(extraction.n_reused for extraction in extractions)
    return SideBySide(first.images, first.digests, first.store, reused, tuple(others))
