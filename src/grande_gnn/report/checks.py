"""Check the lengths and ranges of a labelling once, so that the sections of the report can trust them."""

from __future__ import annotations

from collections.abc import Sized

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.result import Labelling

__all__ = ["check_labelling"]

_COLUMNS = ("labels", "confidence", "runner_up", "margin", "given", "unreached", "out_of_distribution")


def check_labelling(labelling: Labelling) -> None:
    """Refuse a labelling that a page cannot show: columns of different lengths, scores out of range, unknown rows."""
    n = len(labelling.files)
    if n == 0:
        raise InvalidInputError("a report needs at least one image; got none")
    for name in _COLUMNS:
        _check_length(getattr(labelling, name), name, n)
    _check_scores(labelling.confidence, "confidence", 0.0)
    _check_scores(labelling.margin, "margin", -1.0)
    for suspicion in labelling.suspicions:
        if not 0 <= suspicion.row < n:
            raise InvalidInputError(f"a suspicion must name a row from 0 to {n - 1}; got {suspicion.row}")
    for name in ("unfamiliar", "is_unfamiliar", "copy_of", "label_sets", "texts"):
        if (column := getattr(labelling, name)) is not None:
            _check_length(column, name, n)
    if labelling.neighbors is not None:
        _check_length(labelling.neighbors.features, "neighbors.features", n)


def _check_length(values: Sized, name: str, n_images: int) -> None:
    if len(values) != n_images:
        raise InvalidInputError(
            f"{name} needs one entry per image: {n_images} images; got {len(values)} entries"
        )


def _check_scores(scores: NDArray[np.float64], name: str, low: float) -> None:
    bad = np.flatnonzero(~((scores >= low) & (scores <= 1)))
    if len(bad):
        raise InvalidInputError(
            f"{name} must lie in [{low:g}, 1], 0 where there is no label; got {scores[bad[0]]:g} for image {bad[0]}"
        )
