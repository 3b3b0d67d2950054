"""Feature normalization before ranked lists and training, with statistics that new samples reuse.

    none        x                          (the paper)
    l2          x / ‖x‖ · mean‖x‖          each row scaled to the mean row norm
    center-l2   (x − μ) / ‖x − μ‖ · √d      the mean feature subtracted, unit rows, times √d

The scale matters because the learning rate is fixed: with √d, entries have a magnitude of about 1.

In both means, a row that is longer than 100 times the median row counts as if it were that long: a single damaged row could
otherwise move the center so far that all other rows point in the same direction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NORMALIZATIONS", "Normalizer"]

_ROWS = 512
"""Rows that are normalized at a time."""

_LONGEST = 100.0
"""The length from which on a row counts no more, as a multiple of the median length of the rows that are not 0."""


@dataclass(frozen=True, eq=False)
class Normalizer:
    """x ↦ (x − center) / ‖x − center‖ · length, or the identity when ``length`` is 0."""

    center: NDArray[np.float32]
    length: float

    @classmethod
    def fit(cls, X: NDArray[np.float32], how: str) -> Normalizer:
        """Learn the statistics of ``how``, a name of :data:`NORMALIZATIONS`, from the rows of X."""
        from grande_gnn.internal.validation import check_choice

        return cls(*NORMALIZATIONS[check_choice(how, NORMALIZATIONS, name="normalize")](X))

    def transform(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Normalize each row on its own; a row that equals the center becomes 0."""
        import numpy as np

        from grande_gnn.internal.row_blocks import for_row_blocks

        if self.length == 0.0:
            return X
        out = np.empty(X.shape, dtype=np.float32)
        for_row_blocks(lambda rows: self._move(X[rows], out[rows]), X)
        return out

    def _move(self, X: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        import numpy as np

        for start in range(0, len(X), _ROWS):  # a block stays in the cache, and float64 copies stay small
            moved = X[start : start + _ROWS].astype(np.float64) - self.center
            norms = np.linalg.norm(moved, axis=1, keepdims=True)
            out[start : start + _ROWS] = moved * (self.length / np.where(norms > 0, norms, 1.0))


def _none(X: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    import numpy as np  # here, so that the command line can read the names of this module without importing numpy

    return np.zeros(X.shape[1], dtype=np.float32), 0.0


def _l2(X: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    import numpy as np

    norms = _norms(X)
    return _none(X)[0], float(np.minimum(norms, _limit(norms)).mean())


def _center_l2(X: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    import numpy as np

    norms = _norms(X)
    too_long = norms > _limit(norms)
    center = X.mean(axis=0, dtype=np.float64)
    if too_long.any():
        cut = X[too_long].astype(np.float64) * (_limit(norms) / norms[too_long])[:, None]
        center = (X.sum(axis=0, dtype=np.float64, where=~too_long[:, None]) + cut.sum(axis=0)) / len(X)
    return center.astype(np.float32), float(np.sqrt(X.shape[1]))


def _norms(X: NDArray[np.float32]) -> NDArray[np.float64]:
    import numpy as np

    starts = range(0, len(X), _ROWS)
    return np.concatenate(
        [np.linalg.norm(X[start : start + _ROWS].astype(np.float64), axis=1) for start in starts]
    )


def _limit(norms: NDArray[np.float64]) -> float:
    import numpy as np

    return _LONGEST * float(np.median(norms[norms > 0])) if norms.any() else 0.0


NORMALIZATIONS: dict[str, Callable[[NDArray[np.float32]], tuple[NDArray[np.float32], float]]] = {
    "none": _none,
    "l2": _l2,
    "center-l2": _center_l2,
}
"""The formulas above by name: from features to the center and the length of the :class:`Normalizer`."""
