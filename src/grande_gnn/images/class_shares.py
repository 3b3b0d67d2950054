"""The share of each class among all images, as far as a teacher that makes mistakes can tell.

Pseudo-labels are aligned to these shares, so a wrong share becomes wrong labels. With an error rate ε, a class gains and
loses about the share ε of its images, so the shares s that a teacher predicts are off by about ε s. They are trusted only as
far as they differ from equal shares by more than that (the estimator of James and Stein, 1961):

    π = 1/C + (1 − λ)(s − 1/C),        λ = min(1, ε² ‖s‖² / ‖s − 1/C‖²)

So a teacher with few errors, or classes of very different sizes, keep the predicted shares, and differences that errors
explain are ignored.
"""

from __future__ import annotations

from torch import Tensor

__all__ = ["ALIGNMENTS", "class_shares"]

ALIGNMENTS = ("teacher", "predicted", "uniform", "none")
"""The shares π from the formula; the mean of the teacher's probabilities as it is; equal shares; no alignment."""


def class_shares(probabilities: Tensor, align: str = "teacher", error: float | None = None) -> Tensor | None:
    """The shares to which pseudo-labels are aligned; None for no alignment.

    Parameters
    ----------
    probabilities : those of the teacher, (n_images, n_classes).
    align : one of :data:`ALIGNMENTS`.
    error : ε, the share of images that the teacher labels wrongly; None: one minus its mean confidence.

    >>> import torch
    >>> three_of_four = torch.eye(2)[[0, 0, 0, 1]]
    >>> class_shares(three_of_four, error=0.0), class_shares(three_of_four, error=0.9)
    (tensor([0.6667, 0.3333]), tensor([0.5000, 0.5000]))
    """
    if align == "none":
        return None
    if align == "predicted":
        return probabilities.float().mean(0)
    known = (probabilities.sum(0) > 0).float()  # half of the labels may not name all classes
    equal = known / known.sum()
    if align == "uniform":
        return equal
    if error is None:
        error = 1 - float(probabilities.amax(1).mean())
    # Counts, because probabilities that are too soft make classes look more equal. No class is left without a share.
    best = (probabilities == probabilities.amax(1, keepdim=True)).float()
    counts = (best / best.sum(1, keepdim=True)).sum(0) + known
    predicted = counts / counts.sum()
    beyond = predicted - equal
    explained = error**2 * predicted.square().sum() / beyond.square().sum().clamp(min=1e-12)
    return equal + (1 - explained).clamp(min=0) * beyond
