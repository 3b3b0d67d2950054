"""A member without a graph: logistic regression on the normalized features, for data on which graphs mislead.

It joins the committee only if held-out labels show that it is clearly better than the graphs. With few labels per class it
is worse, and there are too few held-out predictions to tell, so it is not even tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.classifier.logistic_regression import fit_logistic_regression
from grande_gnn.internal.device import float32_products, resolve_device

__all__ = ["CLEARLY_BETTER", "ENOUGH_LABELS", "GraphFree", "is_clearly_better"]

ENOUGH_LABELS = 4
"""It is tried from this average number of labels per class on."""

CLEARLY_BETTER = 2.0
"""Its share of right predictions must be higher by more than this many standard errors of the paired difference."""

LARGE = 4_000_000
"""From this product of labels and classes on, the fit uses all processors."""

BLOCK = 2**22
"""Rows are predicted in blocks with at most this many features, and at most this many logits."""

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GraphFree:
    """A linear model: logits = x · coefficients + intercept."""

    coefficients: Float
    intercept: Float
    weight: float = 1.0
    """Its weight in the committee's mean."""

    @classmethod
    def train(
        cls,
        inputs: NDArray[np.float32],
        codes: NDArray[np.int64],
        weights: Float,
        n_classes: int,
        weight: float = 1.0,
        device: str = "cpu",
    ) -> GraphFree:
        """Fit the labelled rows, each label with its weight in the loss; a class without labels gets no coefficients."""
        rows = np.flatnonzero(codes >= 0)
        known, places = np.unique(codes[rows], return_inverse=True)
        coefficients, intercept = np.zeros((inputs.shape[1], n_classes)), np.zeros(n_classes)
        if len(known) > 1:
            on = resolve_device(device)
            x, y, w = (torch.from_numpy(part).to(on) for part in (inputs[rows], places, weights[rows]))
            with float32_products("ieee", on), _threads(len(rows) * n_classes):
                fitted = fit_logistic_regression(x, y, w, len(known))
            coefficients[:, known], intercept[known] = fitted[:-1], fitted[-1]
        return cls(coefficients, intercept, weight)

    def logits(self, inputs: NDArray[np.float32]) -> Float:
        """The logits of normalized rows, fitted or new."""
        return inputs.astype(np.float64) @ self.coefficients + self.intercept

    def probabilities(self, inputs: NDArray[np.float32], device: str = "cpu") -> Float:
        """Class probabilities of normalized rows, fitted or new."""
        out = np.empty((len(inputs), len(self.intercept)))
        for rows, p in self.in_blocks(inputs, device=device):
            out[rows] = p
        return out

    def in_blocks(
        self, inputs: NDArray[np.float32], known: Iterable[int] | None = None, device: str = "cpu"
    ) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Class probabilities, one block of rows at a time to save memory; with ``known``, of these classes only."""
        on = resolve_device(device)
        coefficients, among = (
            torch.from_numpy(part).to(on, torch.float32) for part in (self.coefficients, self.intercept)
        )
        if known is not None:
            unknown = np.setdiff1d(np.arange(len(among)), list(known))
            among[torch.from_numpy(unknown).to(on)] = -torch.inf
        step = max(1, BLOCK // max(1, *coefficients.shape))
        with float32_products("ieee", on):
            for start in range(0, len(inputs), step):
                rows = slice(start, start + step)
                z = torch.addmm(among, torch.from_numpy(inputs[rows]).to(on), coefficients)
                yield rows, torch.softmax(z, dim=1).cpu().numpy()


@contextmanager
def _threads(size: int) -> Iterator[None]:
    """Use one thread for small products: on busy cores, several would mostly wait for each other."""
    usual = torch.get_num_threads()
    torch.set_num_threads(usual if size >= LARGE else 1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def is_clearly_better(hits: Float, hits_of_graphs: Float) -> bool:
    """Whether ``hits`` (1: right, 0: wrong) beat those of the graphs on the same labels by more than noise."""
    difference = hits - hits_of_graphs
    if len(difference) < 2:
        return False
    return bool(difference.mean() > CLEARLY_BETTER * difference.std(ddof=1) / np.sqrt(len(difference)))
