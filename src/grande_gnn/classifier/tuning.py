"""Choosing graph, neighbours, normalisation and σ by cross-validation inside the labelled samples.

All samples stay in the graph; the labels of one fold at a time are hidden, and a candidate's folds and σ's are
replicas of one batch. On half of the folds a few graphs and normalisations are screened with SGC, which is cheap, and
the best of them and the standing favourite with each σ meet in the final model; the favourite and a rival that is ahead
of it there go on to the other half. The favourite — the choice that did best on the data measured for this package —
gives way only to a candidate that is clearly better, because a few labels make noisy scores. The held-out
predictions of the winner serve to calibrate its confidence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.engine import DegreeSpec, Replica, Settings, resolve_device, train
from grande_gnn.graph import GRAPHS, Graph, list_length, ranked_lists

__all__ = [
    "AUTO",
    "FAVOURITE",
    "PAPER",
    "Choice",
    "HeldOut",
    "Selection",
    "choose",
    "held_out_folds",
    "hold_out",
]

logger = logging.getLogger(__name__)

AUTO = "auto"
"""What leaves a setting open."""

N_FOLDS = 4
"""Folds of the labelled samples: few, because each costs a training of every confirmed candidate."""

CLEARLY_BETTER = 3.0
"""Standard errors of the paired difference by which a candidate must beat the favourite: there are several
candidates, and labels given in series differ by more than their number tells (at 2, one split of Flowers17 in ten
took a graph that was 6.6 points better on its labels and 4.4 worse on the rest)."""


@dataclass(frozen=True)
class Choice:
    """What is chosen; ``"auto"`` in a field leaves it open."""

    graph: str
    n_neighbors: int | str
    normalize: str
    sigma: float | str

    @property
    def is_open(self) -> bool:
        """Whether anything is left to choose."""
        return AUTO in (self.graph, self.n_neighbors, self.normalize, self.sigma)

    def fill(self, other: Choice) -> Choice:
        """The open fields taken from ``other``."""
        return Choice(*(b if a == AUTO else a for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return f"graph={self.graph}, n_neighbors={self.n_neighbors}, normalize={self.normalize}, sigma={self.sigma:g}"


PAPER = Choice("reciprocal", 40, "none", 0.2)
"""The authors' settings."""

FAVOURITE = Choice("dgcg", 40, "center-l2", 0.2)
"""What did best on the data measured for this package."""

SCREENED = [
    FAVOURITE,
    Choice("dgcg", 20, "center-l2", 0.2),
    Choice("dgcg", 40, "none", 0.2),
    Choice("reciprocal", 40, "center-l2", 0.2),
    PAPER,
]
"""What SGC tries first."""
SIGMAS = (0.2, 0.5)
"""σ = 0.2 is the paper's; features on which it collapses (ViT in the paper's Table 1) want a larger one."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Logits of labelled samples, each from a training that did not know its label."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    logits: NDArray[np.float64]

    @property
    def hits(self) -> NDArray[np.float64]:
        """1 where the held-out prediction is right, else 0."""
        return (self.logits.argmax(axis=1) == self.labels).astype(np.float64)

    def joined(self, other: HeldOut) -> HeldOut:
        """Both, in the order of the rows."""
        rows = np.concatenate([self.rows, other.rows])
        order = np.argsort(rows)
        labels = np.concatenate([self.labels, other.labels])[order]
        return HeldOut(rows[order], labels, np.concatenate([self.logits, other.logits])[order])


@dataclass(frozen=True, eq=False)
class Selection:
    """The choice, its held-out predictions (``None`` when there were too few labels), and how it was made."""

    choice: Choice
    held_out: HeldOut | None
    note: str


def held_out_folds(codes: NDArray[np.int64], n_folds: int = N_FOLDS) -> list[NDArray[np.int64]]:
    """Rows of the labelled samples in stratified folds; empty if some class has fewer than two labels."""
    rows = np.flatnonzero(codes >= 0)
    smallest = int(np.bincount(codes[rows]).min())
    if smallest < 2 or len(np.unique(codes[rows])) < 2:
        return []
    splitter = StratifiedKFold(min(n_folds, smallest), shuffle=True, random_state=0)
    return [rows[test] for _, test in splitter.split(rows, codes[rows])]


def hold_out(
    X: NDArray[np.float32],
    graph: Graph,
    codes: NDArray[np.int64],
    folds: Sequence[NDArray[np.int64]],
    degrees: Sequence[DegreeSpec],
    settings: Settings,
    hidden: int | None,
    *,
    first: int = 0,
) -> list[HeldOut]:
    """Held-out logits for each degree: one replica a degree and fold, all in one batch.

    ``first`` is the number of the first of ``folds``, from which its initial weights are drawn.
    """
    rows = np.sort(np.concatenate(folds))
    masked = []
    for fold in folds:
        known = codes.copy()
        known[fold] = -1
        masked.append(known)
    n_classes = int(codes.max()) + 1
    replicas = [
        Replica(known, degree, 0, f, hidden) for degree in degrees for f, known in enumerate(masked, first)
    ]
    outcomes = train(X, graph, replicas, n_classes, settings, keep_models=True)
    results = []
    for d in range(len(degrees)):
        logits = np.zeros((len(codes), n_classes))
        mine = outcomes[d * len(folds) : (d + 1) * len(folds)]
        for fold, outcome in zip(folds, mine, strict=True):
            assert outcome.logits is not None  # keep_models=True
            logits[fold] = outcome.logits[fold]
        results.append(HeldOut(rows, codes[rows], logits[rows]))
    return results


class _Bench:
    """Features normalised and graphs built once, whatever candidates ask for them."""

    def __init__(self, X: NDArray[np.float32], device: str) -> None:
        self.X, self.device = X, device
        self._inputs: dict[str, NDArray[np.float32]] = {}
        self._lists: dict[str, NDArray[np.int32]] = {}
        self._graphs: dict[tuple[str, int | str, str], Graph] = {}

    def inputs(self, choice: Choice) -> NDArray[np.float32]:
        how = choice.normalize
        if how not in self._inputs:
            self._inputs[how] = Normalizer.fit(self.X, how).transform(self.X)
        return self._inputs[how]

    def graph(self, choice: Choice) -> Graph:
        key = (choice.graph, choice.n_neighbors, choice.normalize)
        if key not in self._graphs:
            k = int(choice.n_neighbors)
            length = max(list_length(g, k) for g in GRAPHS)
            if choice.normalize not in self._lists:
                self._lists[choice.normalize] = ranked_lists(self.inputs(choice), length, device=self.device)
            lists = self._lists[choice.normalize]
            self._graphs[key] = GRAPHS[choice.graph](lists[:, : list_length(choice.graph, k)], k)
        return self._graphs[key]


def choose(
    X: NDArray[np.float32],
    codes: NDArray[np.int64],
    wanted: Choice,
    settings: Settings,
    hidden: int | None,
    degree: str,
) -> Selection:
    """Fill the open fields of ``wanted``."""
    folds = held_out_folds(codes)
    if not folds:
        choice = wanted.fill(PAPER)
        why = "only one class is labelled" if codes.max() == 0 else "some class has fewer than 2 labels"
        note = f"{why}, so nothing could be cross-validated: the paper's settings are used ({choice})"
        logger.warning(note)
        return Selection(choice, None, note)
    bench = _Bench(X, str(resolve_device(settings.device)))
    screened = _distinct(wanted.fill(candidate) for candidate in SCREENED)
    favourite = wanted.fill(FAVOURITE)
    sigmas = SIGMAS if wanted.sigma == AUTO and degree == "grande" else (float(favourite.sigma),)
    middle = len(folds) // 2
    half, rest = slice(0, middle), slice(middle, None)
    n_met = len(sigmas) + (len(screened) > 1)
    logger.warning(
        "choosing settings by %d-fold cross-validation: %d small and at most %d full trainings",
        len(folds),
        (len(screened) - 1) * middle if len(screened) > 2 else 0,
        middle * n_met + (len(folds) - middle) * min(2, n_met),
    )

    def measured(
        choice: Choice, values: Sequence[float], part: slice, model: Settings = settings
    ) -> list[HeldOut]:
        specs: list[DegreeSpec] = [v if degree == "grande" else "centrality" for v in values]
        inputs, graph = bench.inputs(choice), bench.graph(choice)
        return hold_out(inputs, graph, codes, folds[part], specs, model, hidden, first=part.start)

    def measured_once(choice: Choice, part: slice, model: Settings = settings) -> HeldOut:
        return measured(choice, [float(choice.sigma)], part, model)[0]

    screening = replace(settings, model="sgc")
    challenger = _best_other(screened, favourite, lambda c: measured_once(c, half, screening))
    met = [replace(favourite, sigma=v) for v in sigmas]
    first_half = measured(favourite, sigmas, half)
    if challenger is not None:
        met.append(challenger)
        first_half.append(measured_once(challenger, half))
    ahead = _ahead_of_the_first(first_half)
    confirmed = [(met[i], first_half[i].joined(measured_once(met[i], rest))) for i in ahead]
    winner, result = _winner(confirmed)
    note = (
        f"chosen by {len(folds)}-fold cross-validation of the {len(result.rows)} labelled samples: {winner}"
    )
    logger.info(note)
    return Selection(winner, result, note)


def _ahead_of_the_first(results: Sequence[HeldOut]) -> list[int]:
    """The first, and the best if that is another."""
    scores = [result.hits.mean() for result in results]
    best = int(np.argmax(scores))
    return [0] if best == 0 else [0, best]


def _distinct(choices: Iterable[Choice]) -> list[Choice]:
    return list(dict.fromkeys(choices))


def _best_other(
    candidates: list[Choice], favourite: Choice, measure: Callable[[Choice], HeldOut]
) -> Choice | None:
    """The candidate that does best besides the favourite; a single one needs no measuring."""
    others = [c for c in candidates if c != favourite]
    if len(others) < 2:
        return others[0] if others else None
    return max(others, key=lambda c: measure(c).hits.mean())


def _winner(confirmed: list[tuple[Choice, HeldOut]]) -> tuple[Choice, HeldOut]:
    """The first, unless the best beats it by more than the noise of their paired difference."""
    first, best = confirmed[0], max(confirmed, key=lambda pair: pair[1].hits.mean())
    difference = best[1].hits - first[1].hits
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
    return best if difference.mean() > CLEARLY_BETTER * error else first
