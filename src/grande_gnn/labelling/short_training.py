"""What a training says about every image: a full one, or a short one on other labels, where that is quick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.short_fit import short_fit, short_fit_work
from grande_gnn.labelling.result import Labelling

__all__ = ["MOST_WORK", "Trained", "train_shortly", "trained_of"]

MOST_WORK = 3e10
"""Multiplications up to which there are short trainings, as with SGC on about a thousand images; longer ones would delay the
full training."""


@dataclass(frozen=True, eq=False)
class Trained:
    """The probabilities of a training, full or short, and the labels that it was given."""

    given: list[str]
    classes: list[str]
    probabilities: NDArray[np.float64]


def trained_of(full: Labelling) -> Trained:
    """What a full training says."""
    assert full.classifier is not None  # a labelling without one was not trained
    p = np.asarray(full.classifier.label_distributions_[: len(full.files)], dtype=np.float64)
    return Trained(full.given, [str(name) for name in full.classifier.classes_], p)


def train_shortly(full: Labelling, labels: Mapping[str, str]) -> Trained | None:
    """A short training on ``labels`` (file to label); None where it would take too long or there is no model yet."""
    if full.classifier is None or short_fit_work(full.classifier) > MOST_WORK:
        return None
    given = [labels.get(file, "") for file in full.files]
    fit = short_fit(full.classifier, given)
    return Trained(given, fit.classes, fit.probabilities)
