"""A member without a graph: logistic regression on the normalized features, for data on which graphs mislead.

It counts only where held-out labels show that it is clearly better than the graphs. With a few labels per class it is
worse, and its held-out predictions are too few to tell, so there it is not even tried.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from grande_gnn.internal.row_blocks import by_row_blocks

__all__ = ["CLEARLY_BETTER", "ENOUGH_LABELS", "GraphFree", "is_clearly_better"]

ENOUGH_LABELS = 4
"""Labels per class, on average, from which on it is tried."""

CLEARLY_BETTER = 2.0
"""Standard errors of the paired difference of right predictions by which it must be better."""

LARGE = 4_000_000
"""Labels times classes from which on the fit uses all processors."""

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GraphFree:
    """A linear model: logits = x · coefficients + intercept."""

    coefficients: Float
    intercept: Float
    weight: float = 1.0
    """The share in the committee's mean."""

    @classmethod
    def train(
        cls,
        inputs: NDArray[np.float32],
        codes: NDArray[np.int64],
        weights: Float,
        n_classes: int,
        weight: float = 1.0,
    ) -> GraphFree:
        """Fit the labelled rows, each label with its weight in the loss; a class without labels gets no coefficients."""
        rows = np.flatnonzero(codes >= 0)
        known = np.unique(codes[rows])
        coefficients, intercept = np.zeros((inputs.shape[1], n_classes)), np.zeros(n_classes)
        if len(known) > 1:
            # On busy cores the threads of small products mostly wait for each other.
            threads = 1 if len(rows) * n_classes < LARGE else None
            # An answer after 300 steps is good enough.
            with warnings.catch_warnings(), threadpool_limits(threads):
                warnings.simplefilter("ignore", ConvergenceWarning)
                fitted = LogisticRegression(max_iter=300).fit(
                    inputs[rows], codes[rows], sample_weight=weights[rows]
                )
            own = known[1:] if len(known) == 2 else known  # of two classes, the second has the coefficients
            coefficients[:, own], intercept[own] = fitted.coef_.T, fitted.intercept_
        return cls(coefficients, intercept, weight)

    def logits(self, inputs: NDArray[np.float32]) -> Float:
        """The logits of normalized rows, fitted or new."""
        return by_row_blocks(lambda x: x.astype(np.float64) @ self.coefficients + self.intercept, inputs)

    def probabilities(self, inputs: NDArray[np.float32]) -> Float:
        """Class probabilities of normalized rows, fitted or new."""
        return by_row_blocks(lambda x: softmax(self.logits(x), axis=1), inputs)


def is_clearly_better(hits: Float, hits_of_graphs: Float) -> bool:
    """Whether right predictions (1, else 0) of the same labels differ by more than their noise."""
    difference = hits - hits_of_graphs
    if len(difference) < 2:
        return False
    return bool(difference.mean() > CLEARLY_BETTER * difference.std(ddof=1) / np.sqrt(len(difference)))
