"""Feature normalisation before ranked lists and training, with statistics that new samples reuse.

    none        x                          (the paper)
    l2          x / ‖x‖ · mean‖x‖          each row scaled to the mean row norm
    center-l2   (x − μ) / ‖x − μ‖ · √d      the mean feature subtracted, unit rows, times √d

The scale matters because the learning rate is fixed: √d keeps entries of the order of 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grande_gnn.internal.validation import check_choice

__all__ = ["NORMALIZATIONS", "Normalizer"]

NORMALIZATIONS = ("none", "l2", "center-l2")
"""The names of the formulas above."""


@dataclass(frozen=True, eq=False)
class Normalizer:
    """x ↦ (x − center) / ‖x − center‖ · length, or the identity when ``length`` is 0."""

    center: NDArray[np.float32]
    length: float

    @classmethod
    def fit(cls, X: NDArray[np.float32], how: str) -> Normalizer:
        """Learn the statistics of ``how`` from the rows of X."""
        check_choice(how, NORMALIZATIONS, name="normalize")
        zero = np.zeros(X.shape[1], dtype=np.float32)
        if how == "none":
            return cls(zero, 0.0)
        if how == "l2":
            return cls(zero, float(np.linalg.norm(X.astype(np.float64), axis=1).mean()))
        return cls(X.mean(axis=0, dtype=np.float64).astype(np.float32), float(np.sqrt(X.shape[1])))

    def transform(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Normalise each row on its own; a row at the centre stays there."""
        if self.length == 0.0:
            return X
        moved = X.astype(np.float64) - self.center
        norms = np.linalg.norm(moved, axis=1, keepdims=True)
        return (moved * (self.length / np.where(norms > 0, norms, 1.0))).astype(np.float32)
