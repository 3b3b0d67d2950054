"""The part of a labelling's settings that its model decides, and that is therefore new after each training."""

from __future__ import annotations

from dataclasses import asdict

from grande_gnn.labelling.result import Labelling

__all__ = ["RECALL", "model_settings"]

RECALL = "neighbor_recall"
"""How many of the true neighbors an approximate search found; an exact search has no such entry."""


def model_settings(result: Labelling) -> dict[str, object]:
    """What was chosen and measured when the classifier of the labelling was trained."""
    clf = result.classifier
    assert clf is not None  # just fitted or loaded
    recall = clf.neighbors_.recall
    return {
        "model": clf.problem_.settings.kind.name, "degree": clf.problem_.degree.name, "graph": clf.choice_.graph,
        "n_neighbors": clf.choice_.n_neighbors, "normalize": clf.choice_.normalize, "sigma": clf.choice_.sigma,
        "members": clf.committee_.described(), **asdict(result.calibration),
        **({} if recall is None else {RECALL: str(recall)}),
    }  # fmt: skip
