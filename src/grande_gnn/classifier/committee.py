"""Several trained graphs whose prediction is the weighted mean of their probabilities.

A classifier with fixed settings is a committee of one graph, trained with equal weights of all labels. Automatic settings
make a real one: held-out labels give each member its temperature and weight (:mod:`.votes`), labels that the held-out
answers contradict count less and all classes count the same (:mod:`.label_weights`), and each member is then trained on
all labels.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.graph_free import GraphFree
from grande_gnn.classifier.halves import HalfProblems, Halves
from grande_gnn.classifier.held_out import HeldOut
from grande_gnn.classifier.label_weights import balanced_weights, trust_in_labels
from grande_gnn.classifier.member import Member
from grande_gnn.classifier.new_samples import attach
from grande_gnn.classifier.preparation import AUTO, Choice, Preparation
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.classifier.tuning import members_for
from grande_gnn.classifier.votes import SHORTER, Votes, take_votes, vote_epochs
from grande_gnn.engine import Settings
from grande_gnn.graph import Neighbors
from grande_gnn.internal.progress import counting_if_heard

__all__ = ["Committee", "Selection", "choose", "for_many_classes", "train_alone", "train_committee"]

logger = logging.getLogger(__name__)

MANY_CLASSES = 150
FASTER = 1e-2
"""From this many classes on, automatic settings use at least this learning rate. At the authors' 10⁻³, a training with two
labels in each of 200 classes is not finished after 200 epochs. The authors use 10⁻² for CUB200, too."""

Codes = NDArray[np.int64]
Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Committee:
    """Trained members over the same samples with the same normalization."""

    members: tuple[Member, ...]
    graph_free: GraphFree | None = None

    def __str__(self) -> str:
        first = self.members[0].choice
        besides = "" if self.graph_free is None else " and logistic regression"
        if len(self.members) == 1:
            return f"{first}{besides}"
        graphs = ", ".join(f"{m.choice.graph} {m.choice.n_neighbors}" for m in self.members)
        return (
            f"a committee of {len(self.members)} graphs ({graphs}){besides}, normalize={first.normalize}, "
            f"sigma={first.sigma:g}"
        )

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Whether a label reaches the fitted sample through the graph of any member."""
        return np.any([member.reached for member in self.members], axis=0)

    def votes(
        self,
        codes: Codes,
        groups: NDArray[np.int64] | None = None,
        half_problems: HalfProblems | None = None,
    ) -> Votes:
        """Compare the members on other labels, with the trainings of :func:`train_committee`."""
        faster = [for_many_classes(member.problem) for member in self.members]
        advance = counting_if_heard("check", sum(vote_epochs(problem.settings) for problem in faster))
        may_join = _several_kinds([m.choice for m in self.members]) or self.graph_free is not None
        return take_votes(
            faster,
            codes,
            groups,
            graph_free=may_join,
            half_problems=_faster_halves(half_problems),
            progress=advance,
        )

    def described(self) -> list[dict[str, Any]]:
        """The settings, weight and temperature of each member, for a file; a member without a graph comes last."""
        members: list[dict[str, Any]] = [
            {**asdict(m.choice), "weight": m.weight, "temperature": m.temperature} for m in self.members
        ]
        if self.graph_free is not None:
            members.append({"graph": None, "weight": self.graph_free.weight})
        return members

    def of_new(self, new: NDArray[np.float32], neighbors: Neighbors) -> tuple[Float, NDArray[np.bool_]]:
        """Class probabilities of new, normalized samples, and whether a label reaches any sample that they attach to."""
        found = neighbors.query(new, max(1, *(int(m.choice.n_neighbors) - 1 for m in self.members)))
        parts, reached = [], np.zeros(len(new), dtype=bool)
        for member in self.members:
            attachments = attach(new, neighbors, int(member.choice.n_neighbors), found)
            parts.append(member.weight * member.of_new(new, attachments))
            reached |= attachments.reached(member.reached)
        if self.graph_free is not None:
            parts.append(self.graph_free.weight * self.graph_free.probabilities(new))
        return np.sum(parts, axis=0), reached


@dataclass(frozen=True, eq=False)
class Selection:
    """What automatic settings became: those of the first member, held-out predictions, and a note.

    ``held_out`` is ``None`` if some class has a single label, because the half without it does not know the class.
    """

    choice: Choice
    held_out: HeldOut | None
    note: str

    @classmethod
    def of(cls, committee: Committee, halves: Halves | None = None) -> Selection:
        """The selection of a committee."""
        complete = halves is not None and bool(halves.answerable().all())
        held_out = halves.held_out() if halves is not None and complete else None
        return cls(committee.members[0].choice, held_out, f"automatic settings: {committee}")


def train_alone(choice: Choice, problem: LearningProblem, codes: Codes) -> tuple[Committee, Float]:
    """A committee of one with fixed settings, in which every label counts the same, and its probabilities."""
    advance = counting_if_heard("train", problem.settings.epochs)
    member, probabilities = Member.train(choice, problem, LabelSet(codes), progress=advance)
    return Committee((member,)), probabilities


def train_committee(
    candidates: Sequence[tuple[Choice, LearningProblem]],
    codes: Codes,
    groups: NDArray[np.int64] | None = None,
    half_problems: HalfProblems | None = None,
    *,
    graph_is_open: bool | None = None,
) -> tuple[Committee, Float, Halves | None]:
    """Train all candidates, weighted by held-out labels.

    Returns the committee, its probabilities for every sample, and what the halves of the labels say.

    Parameters
    ----------
    candidates : the future members with their learning problems.
    codes : the class code of every sample, −1 where it has no label.
    groups : copies share a number (:mod:`.copies`).
    half_problems : the learning problems of each half of the labels, if they differ from the candidates'.
    graph_is_open : whether a member without a graph may join, because nobody named a kind of graph; None: if there are
        several kinds.
    """
    cost = len(candidates) * (1 + 2 / SHORTER)
    logger.info(
        "training %d graphs costs about %.1f fits, held-out trainings included", len(candidates), cost
    )
    choices = [choice for choice, _ in candidates]
    may_join = _several_kinds(choices) if graph_is_open is None else graph_is_open
    problems = [for_many_classes(problem) for _, problem in candidates]
    half_problems = _faster_halves(half_problems)
    advance = counting_if_heard("train", sum(p.settings.epochs + vote_epochs(p.settings) for p in problems))
    votes = take_votes(
        problems, codes, groups, graph_free=may_join, half_problems=half_problems, progress=advance
    )
    weights = balanced_weights(codes, trust_in_labels(votes.halves, len(codes)))
    members, parts = [], []
    own = zip(candidates, problems, votes.temperatures, votes.weights, strict=True)
    for (choice, as_given), problem, T, weight in own:
        member, p = Member.train(
            choice, problem, LabelSet(codes, weights=weights), temperature=T, weight=weight, progress=advance
        )
        p *= weight
        # Other labels may have fewer classes, so the member keeps the learning rate that was asked for.
        members.append(replace(member, problem=as_given))
        parts.append(p)
    total = _sum(parts)
    linear = _graph_free(votes, problems[0], codes, weights)
    if linear is not None:
        for rows, block in linear.in_blocks(problems[0].inputs, device=problems[0].settings.device):
            total[rows] += linear.weight * block
    return Committee(tuple(members), linear), total, votes.halves


def choose(preparation: Preparation, codes: Codes, wanted: Choice) -> Selection:
    """What the open fields of ``wanted`` become: train the committee and return the settings of its first member."""
    choices = members_for(wanted, len(codes), preparation.n_classes)
    preparation.expect(choices)
    candidates = [(c, preparation.problem(c)) for c in choices]
    committee, _, halves = train_committee(candidates, codes, graph_is_open=wanted.graph == AUTO)
    return Selection.of(committee, halves)


def for_many_classes(problem: LearningProblem) -> LearningProblem:
    """The problem, with a higher learning rate if there are many classes."""
    settings: Settings = problem.settings
    if problem.n_classes < MANY_CLASSES or settings.lr >= FASTER:
        return problem
    return replace(problem, settings=replace(settings, lr=FASTER))


def _faster_halves(half_problems: HalfProblems | None) -> HalfProblems | None:
    """The problems of the halves, as :func:`for_many_classes` changes them."""
    if half_problems is None:
        return None
    pairs = [(for_many_classes(one), for_many_classes(other)) for one, other in half_problems.pairs]
    return replace(half_problems, pairs=pairs)


def _sum(parts: list[Float]) -> Float:
    """The sum of the members' shares, added up in the first array to save memory."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def _several_kinds(choices: Sequence[Choice]) -> bool:
    return len({choice.graph for choice in choices}) > 1


def _graph_free(votes: Votes, problem: LearningProblem, codes: Codes, weights: Float) -> GraphFree | None:
    if not votes.graph_free_weight:
        return None
    weight, device = votes.graph_free_weight, problem.settings.device
    return GraphFree.train(problem.inputs, codes, weights, problem.n_classes, weight, device)
