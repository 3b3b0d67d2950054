"""One trained graph of a committee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from grande_gnn.classifier.new_samples import Attachments, FrozenDiffusion, diffused, logits_of_new
from grande_gnn.classifier.preparation import Choice
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.engine.plain import module_logits
from grande_gnn.internal.row_blocks import by_row_blocks

__all__ = ["Member"]

CONVOLUTIONS = 2
"""Hops that stand for a model that is not a diffusion; most of them have two graph convolutions."""

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Member:
    """A learning problem and the result of its training; its probabilities are softmax(logits / temperature)."""

    choice: Choice
    problem: LearningProblem
    parameters: dict[str, NDArray[np.float32]]
    degree: Float
    """The degree of every fitted sample."""
    reached: NDArray[np.bool_]
    """Whether a label reaches each fitted sample through this member's graph."""
    temperature: float = 1.0
    weight: float = 1.0
    """Its weight in the committee's mean."""

    @classmethod
    def train(
        cls,
        choice: Choice,
        problem: LearningProblem,
        labels: LabelSet,
        *,
        temperature: float = 1.0,
        weight: float = 1.0,
        progress: Callable[[int], object] | None = None,
    ) -> tuple[Member, Float]:
        """Train a member on all labels; returns it and its class probabilities of the fitted samples."""
        (outcome,) = problem.train([labels], keep_models=True, progress=progress)
        assert outcome.logits is not None  # keep_models=True
        assert outcome.degree is not None
        assert outcome.parameters is not None
        reached = problem.graph.reached_from(labels.labels >= 0)
        degree = outcome.degree.astype(np.float64)
        member = cls(choice, problem, outcome.parameters, degree, reached, temperature, weight)
        return member, member.probabilities(outcome.logits)

    def probabilities(self, logits: NDArray[np.floating]) -> Float:
        """Class probabilities from logits."""
        return by_row_blocks(lambda z: softmax(z.astype(np.float64) / self.temperature, axis=1), logits)

    def of_new(self, new: NDArray[np.float32], attachments: Attachments) -> Float:
        """Class probabilities of new, normalized samples, from their attachments to this member's graph."""
        return self.probabilities(logits_of_new(self.problem, self.parameters, self.degree, new, attachments))

    def fitted_logits(self) -> NDArray[np.floating]:
        """The logits of the fitted samples, computed again from the parameters."""
        p = self.problem
        if p.settings.kind.is_diffusion:
            frozen = FrozenDiffusion(self.parameters, self.degree, p.degree, p.graph, p.settings)
            return frozen.fitted_logits(p.inputs)
        return module_logits(p.inputs, p.graph, p.degree, self.parameters, p.n_classes, p.settings, p.hidden)

    def diffused(self, features: NDArray[np.floating]) -> NDArray[np.floating]:
        """Features of the fitted samples, diffused like the output of this member's head, with its trained degree."""
        settings = self.problem.settings
        is_diffusion = settings.kind.is_diffusion
        hops, alpha = (settings.hops, settings.teleport) if is_diffusion else (CONVOLUTIONS, 0.0)
        return diffused(features, self.problem.graph, self.degree, hops, alpha)

    def for_classes(self, n_classes: int) -> LearningProblem:
        """The same problem with another number of classes."""
        return replace(self.problem, n_classes=n_classes)
