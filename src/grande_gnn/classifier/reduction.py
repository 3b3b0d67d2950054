"""Make sparse features dense: unchanged if they are small enough, otherwise by a truncated singular value decomposition.

    X ≈ U_k S_k V_kᵀ,    features = X V_k

A bag of words of 100,000 texts and 50,000 words would take 20 GB as a dense matrix, and its neighbors would be searched
among 50,000 numbers per text. The first k = 256 right singular vectors keep the distances that matter in 100 MB (latent
semantic analysis, Deerwester et al., 1990).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError, NotEnoughMemoryError
from grande_gnn.internal.validation import check_sparse

__all__ = ["DENSE_BYTES", "Reduction"]

DENSE_BYTES = 256 * 2**20
"""Sparse features that take at most this much memory in dense form are made dense without loss."""

N_COMPONENTS = 256  # as many as the extractor tfidf has


@dataclass(frozen=True, eq=False)
class Reduction:
    """How sparse features become dense."""

    components: NDArray[np.float32] | None
    """V_kᵀ (k × n_features); None if the features are made dense without loss."""

    @classmethod
    def fit(cls, features: Any) -> Reduction:
        """Choose the reduction for these features."""
        matrix = check_sparse(features, name="X")
        n, d = matrix.shape
        if 4 * n * d <= DENSE_BYTES:
            return cls(None)
        from sklearn.decomposition import TruncatedSVD

        try:
            svd = TruncatedSVD(min(N_COMPONENTS, n - 1, d - 1), random_state=0).fit(matrix)
        except MemoryError as error:
            raise NotEnoughMemoryError(
                f"sparse features with so many columns take too much memory: leave out columns without entries; got {d} "
                f"columns ({error})"
            ) from None
        return cls(np.ascontiguousarray(svd.components_, dtype=np.float32))

    def transform(self, features: Any) -> NDArray[np.float32]:
        """The dense features of sparse ones."""
        matrix = check_sparse(features, name="X")
        if self.components is None:
            return matrix.toarray()
        if matrix.shape[1] != self.components.shape[1]:
            raise InvalidInputError(
                f"X must have {self.components.shape[1]} features, as in fitting; got {matrix.shape[1]}"
            )
        return np.asarray(matrix @ self.components.T, dtype=np.float32)
