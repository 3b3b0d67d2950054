"""What held-out labels say about the members of a committee: their temperatures, weights and held-out predictions.

Each member is trained on each half of the labels (:mod:`grande_gnn.classifier.halves`) and predicts the other half's. These
trainings are short: a third of the epochs with three times the learning rate, which costs two thirds of a training.
Labels of a class that the predicting half does not know say nothing about a member; with one label per class there are
no others, and the members get equal weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.graph_free import ENOUGH_LABELS, GraphFree, is_clearly_better
from grande_gnn.classifier.halves import HalfProblems, Halves, split_halves, without_unknown
from grande_gnn.classifier.label_weights import balanced_weights
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.classifier.stacking import member_temperature, stacked_weights
from grande_gnn.engine import Settings

__all__ = ["SHORTER", "Votes", "short_settings", "take_votes", "vote_epochs"]

SHORTER = 3
"""The factor by which a training on a half is shorter."""

FASTEST = 0.03
"""The shorter training does not raise the learning rate above this."""

Codes = NDArray[np.int64]
Float = NDArray[np.float64]
Pair = tuple[NDArray[np.floating], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class Votes:
    """How the members predict labels that they were not given, and what follows for the committee."""

    halves: Halves | None
    """The committee's predictions by each half; None if the labels cannot be split into two halves."""
    temperatures: list[float]
    weights: list[float]
    """The share of each graph; with that of the member without a graph they sum to 1."""
    graph_free_weight: float = 0.0


def take_votes(
    problems: Sequence[LearningProblem],
    codes: Codes,
    groups: NDArray[np.int64] | None = None,
    *,
    graph_free: bool = False,
    half_problems: HalfProblems | None = None,
    progress: Callable[[int], object] | None = None,
) -> Votes:
    """Train every member on both halves of the labels; ``graph_free``: also try a member without a graph.

    ``half_problems``: the problems of each half, where they differ from those of the training on all labels. ``progress`` is
    called with the number of epochs since the last call, :func:`vote_epochs` in all.
    """
    equal = [1 / len(problems)] * len(problems)
    known = split_halves(codes, groups) if half_problems is None else half_problems.for_labels(codes)
    if len(np.unique(codes[codes >= 0])) < 2 or not all(half.any() for half in known):
        return Votes(None, [1.0] * len(problems), equal)
    pairs = [(problem, problem) for problem in problems] if half_problems is None else half_problems.pairs
    logits = [_half_logits(pair, codes, known, progress) for pair in pairs]
    rows = np.flatnonzero(codes >= 0)  # what follows asks about labelled samples only
    labels, of_rows = codes[rows], (known[0][rows], known[1][rows])
    asked = [(one[rows], other[rows]) for one, other in logits]
    each = [_as_halves(labels, of_rows, pair) for pair in asked]
    answerable = each[0].answerable()
    held_out = [halves.held_out() for halves in each]
    temperatures = [
        member_temperature(answers.logits[answerable], answers.labels[answerable]) for answers in held_out
    ]
    each = [_as_halves(labels, of_rows, pair, T) for pair, T in zip(asked, temperatures, strict=True)]
    weights = stacked_weights(np.stack([_likelihoods(halves) for halves in each], axis=1))
    members = list(zip(logits, temperatures, strict=True))
    del logits  # so that each member's can be freed before the next member's probabilities
    graphs = _mean(codes, known, members, weights)
    votes = Votes(graphs, temperatures, weights.tolist())
    return _with_graph_free(votes, pairs[0]) if graph_free else votes


def vote_epochs(settings: Settings) -> int:
    """The epochs that :func:`take_votes` trains each member, both halves together.

    >>> vote_epochs(Settings(epochs=200))
    134
    """
    return 2 * short_settings(settings).epochs


def short_settings(settings: Settings) -> Settings:
    """The settings of a training on a half of the labels."""
    lr = min(SHORTER * settings.lr, max(settings.lr, FASTEST))
    return replace(settings, epochs=math.ceil(settings.epochs / SHORTER), lr=lr)


def _half_logits(
    pair: tuple[LearningProblem, LearningProblem],
    codes: Codes,
    known: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    progress: Callable[[int], object] | None = None,
) -> Pair:
    first, second = (replace(problem, settings=short_settings(problem.settings)) for problem in pair)
    given = [np.where(half, codes, -1) for half in known]
    sets = [LabelSet(half, fold, weights=balanced_weights(half)) for fold, half in enumerate(given)]
    if pair[0] is pair[1]:
        outcomes = first.train(sets, keep_models=True, progress=progress)
    else:
        outcomes = [
            *first.train(sets[:1], keep_models=True, progress=progress),
            *second.train(sets[1:], keep_models=True, progress=progress),
        ]
    one, other = (np.asarray(outcome.logits) for outcome in outcomes)
    return one, other


def _as_halves(
    codes: Codes, known: tuple[NDArray[np.bool_], NDArray[np.bool_]], logits: Pair, temperature: float = 1.0
) -> Halves:
    one, other = (_of_half(z, codes, half, temperature) for z, half in zip(logits, known, strict=True))
    return Halves(codes, known, (one, other))


def _of_half(
    z: NDArray[np.floating],
    codes: Codes,
    half: NDArray[np.bool_],
    temperature: float,
    weight: float = 1.0,
) -> Float:
    """The probabilities by one half, times the member's weight, in a single array."""
    p = without_unknown(z, np.unique(codes[half]), temperature)
    p *= weight
    return p


def _likelihoods(halves: Halves) -> Float:
    """The probability of each label by the half that did not know it, where that half knows the class."""
    held_out, answerable = halves.held_out(), halves.answerable()
    return np.exp(held_out.logits[np.arange(len(held_out.labels)), held_out.labels])[answerable]


def _mean(
    codes: Codes,
    known: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    members: list[tuple[Pair, float]],
    weights: Float,
) -> Halves:
    """The weighted mean of the members' predictions, from the logits and the temperature of each.

    It empties the list: one member after the other is added and its logits are freed, as each has two n × c arrays.
    """
    totals: list[Float] = []
    for weight in weights.tolist():
        pair, temperature = members.pop(0)
        for h, half in enumerate(known):
            p = _of_half(pair[h], codes, half, temperature, weight)
            if len(totals) < len(known):
                totals.append(p)
            else:
                totals[h] += p
            del p  # before the next is made
        del pair
    return Halves(codes, known, (totals[0], totals[1]))


def _with_graph_free(votes: Votes, pair: tuple[LearningProblem, LearningProblem]) -> Votes:
    """Give logistic regression a share if it is clearly better at labels it did not know."""
    graphs = votes.halves
    assert graphs is not None  # its caller has two halves
    if np.count_nonzero(graphs.codes >= 0) < ENOUGH_LABELS * pair[0].n_classes:
        return votes
    rows = np.flatnonzero(graphs.codes >= 0)
    linear = []
    for half, problem in zip(graphs.known, pair, strict=True):
        given = np.where(half, graphs.codes, -1)
        weights, device = balanced_weights(given), problem.settings.device
        linear.append(GraphFree.train(problem.inputs, given, weights, problem.n_classes, device=device))
    one, other = (model.logits(problem.inputs[rows]) for model, problem in zip(linear, pair, strict=True))
    of_rows = (graphs.known[0][rows], graphs.known[1][rows])
    asked = _as_halves(graphs.codes[rows], of_rows, (one, other))
    answerable = graphs.answerable()
    hits = [halves.held_out().hits[answerable] for halves in (asked, graphs)]
    if not is_clearly_better(*hits):
        return votes
    both = np.stack([_likelihoods(graphs), _likelihoods(asked)], axis=1)
    share, of_linear = stacked_weights(both)
    first, second = (
        _joined(graphs, h, model, problem, (share, of_linear))
        for h, (model, problem) in enumerate(zip(linear, pair, strict=True))
    )
    return Votes(
        replace(graphs, probabilities=(first, second)),
        votes.temperatures,
        [float(share * w) for w in votes.weights],
        float(of_linear),
    )


def _joined(
    graphs: Halves, half: int, linear: GraphFree, problem: LearningProblem, shares: Sequence[float] | Float
) -> Float:
    """One half's mean of the graphs and logistic regression, written into the graphs' own array."""
    known, joined = np.unique(graphs.codes[graphs.known[half]]), graphs.probabilities[half]
    for rows, p in linear.in_blocks(problem.inputs, known, problem.settings.device):
        joined[rows] = shares[0] * joined[rows] + shares[1] * p
    return joined
