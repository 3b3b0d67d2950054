"""Everything that a training needs except the labels: whatever trains on labels uses a :class:`LearningProblem`.

Inputs, graph, degree and settings are made once; tuning, held-out predictions, the accuracy estimate, evaluations and
compared systems then train on different labels of the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grande_gnn.degree import Degree
from grande_gnn.engine import Outcome, Replica, Settings, train
from grande_gnn.graph import Graph

__all__ = ["LabelSet", "LearningProblem"]


@dataclass(frozen=True, eq=False)
class LabelSet:
    """The labels of one training: a class code per sample, −1 where the label is unknown.

    Initial weights depend on (seed, repetition, fold), dropout on (seed, repetition), so trainings with equal numbers
    are compared on common random numbers.
    """

    labels: NDArray[np.int64]
    fold: int = 0
    repetition: int = 0
    degree: Degree | None = None
    """Another degree than the problem's."""
    weights: NDArray[np.float64] | None = None
    """How much the label of each sample counts in the loss; None: all labels count the same."""


@dataclass(frozen=True, eq=False)
class LearningProblem:
    """Normalized features on a graph, with a degree and the settings of the training."""

    inputs: NDArray[np.float32]
    graph: Graph
    n_classes: int
    degree: Degree
    settings: Settings = field(default_factory=Settings)
    hidden: int | None = 256

    def train(
        self,
        label_sets: Iterable[LabelSet | NDArray[np.int64]],
        *,
        keep_models: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> list[Outcome]:
        """Train once for each set of labels, all in as few batches as memory allows.

        Parameters
        ----------
        label_sets : what is known in each training; a bare array at position i counts as fold i.
        keep_models : whether outcomes also carry logits, the head's output, degrees and parameters.
        progress : called with the number of epochs × trainings finished since the last call.
        """
        replicas = []
        for position, given in enumerate(label_sets):
            known = given if isinstance(given, LabelSet) else LabelSet(given, fold=position)
            degree = self.degree if known.degree is None else known.degree
            replicas.append(
                Replica(known.labels, degree, known.repetition, known.fold, self.hidden, known.weights)
            )
        return train(
            self.inputs, self.graph, replicas, self.n_classes, self.settings,
            keep_models=keep_models, progress=progress,
        )  # fmt: skip
