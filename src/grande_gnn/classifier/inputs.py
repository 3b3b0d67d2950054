"""Check the features that an estimator gets, dense or sparse, and turn them into a dense, finite float32 matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from grande_gnn.classifier.label_checks import one_line_errors
from grande_gnn.classifier.reduction import Reduction
from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.row_blocks import for_row_blocks
from grande_gnn.internal.validation import check_features

__all__ = ["CheckedInputs"]


class CheckedInputs(BaseEstimator):
    """Prepares X for an estimator; ``reduction_`` holds how sparse features were made dense."""

    reduction_: Reduction | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked(self, X: ArrayLike, *, reset: bool, copy: bool = True) -> NDArray[np.float32]:
        if getattr(getattr(X, "dtype", None), "kind", "f") in "mM":
            check_features(X, name="X")  # raises; scikit-learn would read dates as numbers
        if np.ma.is_masked(X):  # the values behind the mask would be used
            raise InvalidInputError(
                f"X must not be masked: drop or fill rows with masked entries; got {int(np.ma.count_masked(X))} masked"
            )
        if reset:
            self.reduction_ = Reduction.fit(X) if sp.issparse(X) else None
        known = getattr(self, "reduction_", None)
        if known is not None and known.components is not None:
            return self._reduced(X, known)
        dense = Reduction(None).transform(X) if sp.issparse(X) else X
        with one_line_errors(), np.errstate(over="ignore"):
            array = validate_data(self, dense, reset=reset, dtype=np.float32, ensure_all_finite=False)
        return _without_negative_zeros(check_features(array, name="X"), copy)

    def _reduced(self, X: Any, reduction: Reduction) -> NDArray[np.float32]:
        """Apply the fitted reduction; the rows may be sparse or dense."""
        if getattr(self, "context", None) is not None:
            raise InvalidInputError(
                "context cannot be combined with sparse features this large: put its rows into X; got a context"
            )
        rows = X if sp.issparse(X) else sp.csr_matrix(check_features(X, name="X"))
        assert reduction.components is not None
        self.n_features_in_ = reduction.components.shape[1]
        return _without_negative_zeros(check_features(reduction.transform(rows), name="X"), copy=False)


def _without_negative_zeros(array: NDArray[np.float32], copy: bool) -> NDArray[np.float32]:
    """The array, or a copy of it, in which −0 is 0, so that equal rows have equal bytes."""
    out = array if array.flags.writeable and not copy else np.empty_like(array)

    def fill(rows: slice) -> None:
        np.add(array[rows], np.float32(0), out=out[rows])

    for_row_blocks(fill, array)
    return out
