"""A short training on other labels: what :meth:`GrandeClassifier.refit` would answer, in a fraction of its time.

Everything is as in ``refit``: the labels are weighted, the members are compared on held-out labels and trained again. Only
the trainings are shorter, with a learning rate that is larger by the same factor, and the members are trained side by side.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.classifier.member import Member
from grande_gnn.classifier.member_threads import in_threads
from grande_gnn.internal.device import resolve_device

__all__ = ["SHORTER", "ShortFit", "short_fit", "short_fit_work"]

SHORTER = 4
"""How much shorter the trainings are. How often they agree with full ones: docs/review.md."""


@dataclass(frozen=True, eq=False)
class ShortFit:
    """The classes, and the probability of each for every fitted sample."""

    classes: list[str]
    probabilities: NDArray[np.float64]


def short_fit(clf: GrandeClassifier, y: ArrayLike) -> ShortFit:
    """Train shortly on other labels of the samples that ``clf`` was fitted on, on the CPU one member per core."""
    on_cpu = resolve_device(clf.device).type == "cpu"
    with in_threads(torch.get_num_threads() if on_cpu else 1):
        fitted = _shortened(clf).refit(y)
    return ShortFit([str(name) for name in fitted.classes_], fitted.label_distributions_)


def short_fit_work(clf: GrandeClassifier) -> float:
    """The multiplications in the first layers of a short fit, which tell roughly how long it takes."""
    total = 0.0
    for member in clf.committee_.members:
        problem = member.problem
        n, d = problem.inputs.shape
        width = problem.settings.kind.width(problem.hidden) or problem.n_classes
        total += float(n) * d * width * problem.settings.epochs / SHORTER
    return total


def _shortened(clf: GrandeClassifier) -> GrandeClassifier:
    """The same classifier with shorter trainings from now on."""
    other: Any = copy.copy(clf)
    other.committee_ = replace(
        clf.committee_, members=tuple(_shortened_member(m) for m in clf.committee_.members)
    )
    return other


def _shortened_member(member: Member) -> Member:
    settings = member.problem.settings
    short = replace(settings, epochs=math.ceil(settings.epochs / SHORTER), lr=SHORTER * settings.lr)
    return replace(member, problem=replace(member.problem, settings=short))
