"""Choosing graph, neighbors, normalization and σ by cross-validation inside the labelled samples.

All samples stay in the graph; the labels of one fold at a time are hidden, and the folds and σ's of a candidate are
replicas of one batch. First, half of the folds screen a few graphs and normalizations with SGC, which is cheap. The
best of them and the standing favorite with each σ are then compared in the final model; the favorite and a rival that
is ahead of it go on to the other half of the folds. The favorite is the choice that did best on the data measured for
this package. It gives way only to a candidate that is clearly better, because few labels make noisy scores. The
held-out predictions of the winner also calibrate its confidence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.held_out import HeldOut, held_out_folds, hold_out
from grande_gnn.classifier.preparation import AUTO, Choice, Preparation
from grande_gnn.engine import Settings
from grande_gnn.engine.degrees import as_degree

__all__ = [
    "CLEARLY_BETTER",
    "FAVORITE",
    "PAPER",
    "SCREENED",
    "SIGMAS",
    "Selection",
    "ahead_of_the_first",
    "choose",
    "winner_of",
]

logger = logging.getLogger(__name__)

CLEARLY_BETTER = 3.0
"""Standard errors of the paired difference by which a candidate must beat the favorite: there are several candidates,
and labels given in series differ by more than their number suggests (at 2, one split of Flowers17 in ten took a graph
that was 6.6 points better on its labels and 4.4 worse on the rest)."""

PAPER = Choice("reciprocal", 40, "none", 0.2)
"""The authors' settings."""

FAVORITE = Choice("dgcg", 40, "center-l2", 0.2)
"""What did best on the data measured for this package."""

SCREENED = [
    FAVORITE,
    Choice("dgcg", 20, "center-l2", 0.2),
    Choice("dgcg", 40, "none", 0.2),
    Choice("reciprocal", 40, "center-l2", 0.2),
    PAPER,
]
"""What the screening tries."""

SCREENING_MODEL = "sgc"
"""The model of the screening: one linear layer, a tenth of the cost of APPNP."""

SIGMAS = (0.2, 0.5)
"""σ = 0.2 is the paper's; features on which it collapses (ViT in the paper's Table 1) need a larger one."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The choice, its held-out predictions (``None`` when there were too few labels), and how it was made."""

    choice: Choice
    held_out: HeldOut | None
    note: str


def choose(preparation: Preparation, codes: NDArray[np.int64], wanted: Choice) -> Selection:
    """Fill the open fields of ``wanted``."""
    folds = held_out_folds(codes)
    if not folds:
        return _without_folds(codes, wanted)
    settings = preparation.settings
    screened = list(dict.fromkeys(wanted.fill(candidate) for candidate in SCREENED))
    favorite = wanted.fill(FAVORITE)
    has_sigma = as_degree(preparation.degree, float(favorite.sigma)).sigma is not None
    sigmas = SIGMAS if wanted.sigma == AUTO and has_sigma else (float(favorite.sigma),)
    middle = len(folds) // 2
    half, rest = slice(0, middle), slice(middle, None)
    _announce(len(folds), middle, len(screened), len(sigmas))
    preparation.expect([*screened, favorite])

    def measured(
        choice: Choice, values: Sequence[float], part: slice, model: Settings = settings
    ) -> list[HeldOut]:
        degrees = [as_degree(preparation.degree, value) for value in values]
        problem = preparation.problem(choice, model)
        return hold_out(problem, codes, folds[part], degrees, first=part.start)

    def measured_once(choice: Choice, part: slice, model: Settings = settings) -> HeldOut:
        return measured(choice, [float(choice.sigma)], part, model)[0]

    screening = replace(settings, model=SCREENING_MODEL)
    challenger = _best_other(screened, favorite, lambda c: measured_once(c, half, screening))
    met = [replace(favorite, sigma=v) for v in sigmas]
    first_half = measured(favorite, sigmas, half)
    if challenger is not None:
        met.append(challenger)
        first_half.append(measured_once(challenger, half))
    ahead = ahead_of_the_first(first_half)
    confirmed = [(met[i], first_half[i].joined(measured_once(met[i], rest))) for i in ahead]
    winner, result = winner_of(confirmed)
    note = (
        f"chosen by {len(folds)}-fold cross-validation of the {len(result.rows)} labelled samples: {winner}"
    )
    logger.info(note)
    return Selection(winner, result, note)


def _without_folds(codes: NDArray[np.int64], wanted: Choice) -> Selection:
    """The paper's settings, and why nothing could be compared."""
    choice = wanted.fill(PAPER)
    why = "only one class is labelled" if codes.max() == 0 else "some class has fewer than 2 labels"
    note = f"{why}, so nothing could be cross-validated: the paper's settings are used ({choice})"
    logger.warning(note)
    return Selection(choice, None, note)


def _announce(n_folds: int, middle: int, n_screened: int, n_sigmas: int) -> None:
    n_met = n_sigmas + (n_screened > 1)
    logger.warning(
        "choosing settings by %d-fold cross-validation: %d small and at most %d full trainings",
        n_folds,
        (n_screened - 1) * middle if n_screened > 2 else 0,
        middle * n_met + (n_folds - middle) * min(2, n_met),
    )


def ahead_of_the_first(results: Sequence[HeldOut]) -> list[int]:
    """The first, and the best if that is another."""
    scores = [result.hits.mean() for result in results]
    best = int(np.argmax(scores))
    return [0] if best == 0 else [0, best]


def _best_other(
    candidates: Iterable[Choice], favorite: Choice, measure: Callable[[Choice], HeldOut]
) -> Choice | None:
    """The candidate that does best besides the favorite; a single one needs no measuring."""
    others = [c for c in candidates if c != favorite]
    if len(others) < 2:
        return others[0] if others else None
    return max(others, key=lambda c: measure(c).hits.mean())


def winner_of(confirmed: list[tuple[Choice, HeldOut]]) -> tuple[Choice, HeldOut]:
    """The first, unless the best beats it by more than the noise of their paired difference."""
    first, best = confirmed[0], max(confirmed, key=lambda pair: pair[1].hits.mean())
    difference = best[1].hits - first[1].hits
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
    return best if difference.mean() > CLEARLY_BETTER * error else first
