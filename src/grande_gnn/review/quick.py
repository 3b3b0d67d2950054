"""The quick answer: what the last full training would say with other labels, without training.

A ridge regression of the classes on diffused features is solved in closed form, once with the labels of the last full
training and once with the present ones. The difference says how much the new labels favor each class at each image,
and is added to the logarithms of the probabilities P of the full training:

    Z = diffused features (ten steps of personalized PageRank on the model's graph, rows of length 1)
    R(labels) = Z (Zᵀ_l Z_l + λI)⁻¹ Zᵀ_l (Y_l − 1/c)          l: the labelled images
    quick = log P + s (R(now) − R(then)),                       s: 0.6 times the slope of log P on R(then)

So the full training's answer stays wherever the new labels say nothing. Z is computed once; an answer then takes a fraction
of a second, and is marked as provisional until the full training has replaced it. docs/review.md tells how often both agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grande_gnn.labelling.result import Labelling

__all__ = ["Answer", "Basis", "QuickAnswer", "answer_of", "basis_of"]

DIMENSIONS, SAMPLE = 192, 3000
"""Principal components of the features that are diffused, and images from which these are computed; with twice as many
components the answers on Flowers17 hardly change."""

STEPS, RETURN = 10, 0.1
"""The diffusion of the default model."""

RIDGE = 1.0
"""λ: rows of Z have length 1, so it weighs as much as one label."""

STRENGTH = 0.6
"""The share of the slope: between 0.5 and 0.7 agreed best with full trainings of SGC and APPNP on Flowers17."""

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answer:
    """A label, its confidence and the runner-up for every image; ``is_provisional`` until trained in full."""

    labels: list[str]
    confidence: Float
    runner_up: list[str]
    is_provisional: bool = False


def answer_of(full: Labelling) -> Answer:
    """The answer of a full training."""
    return Answer(full.labels, full.confidence, full.runner_up)


@dataclass(frozen=True, eq=False)
class Basis:
    """The diffused features Z."""

    rows: NDArray[np.float32]

    def scores(self, codes: NDArray[np.int64], n_classes: int) -> Float:
        """R: the ridge regression on the labelled rows (code ≥ 0), read at every row."""
        known = codes >= 0
        Z = self.rows[known].astype(np.float64)
        target = np.eye(n_classes)[codes[known]] - 1 / n_classes
        weights = np.linalg.solve(Z.T @ Z + RIDGE * np.eye(Z.shape[1]), Z.T @ target)
        return np.asarray(self.rows @ weights.astype(np.float32), dtype=np.float64)


def basis_of(full: Labelling) -> Basis:
    """The basis of a labelling; it depends on features and graph alone, so it works for all labels."""
    assert full.classifier is not None  # a labelling without one has no quick answer
    assert full.neighbors is not None
    n = len(full.files)
    centered = _unit(_principal(full.neighbors.features))
    A = full.classifier.graph_.to_scipy(np.float32)[:n, :n]
    scale = sp.diags((1 / np.sqrt(np.maximum(np.asarray(A.sum(axis=1)).ravel(), 1))).astype(np.float32))
    spread = (scale @ A @ scale).tocsr()
    H = centered
    for _ in range(STEPS):
        H = (1 - RETURN) * (spread @ H) + RETURN * centered
    return Basis(_unit(H))


def _principal(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """The features minus their mean, in their first principal components."""
    centered = X - X.mean(axis=0)
    if X.shape[1] <= DIMENSIONS:
        return centered
    sample = centered[np.random.default_rng(0).permutation(len(X))[:SAMPLE]].astype(np.float64)
    _, directions = np.linalg.eigh(sample.T @ sample)
    return np.asarray(centered @ directions[:, -DIMENSIONS:].astype(np.float32))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1; a row of zeros stays."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(length > 0, length, 1)).astype(np.float32)


class QuickAnswer:
    """Answers for other labels than those of a full training, without training again."""

    def __init__(self, full: Labelling, basis: Basis) -> None:
        assert full.classifier is not None  # a labelling without one has no quick answer
        self.full = full
        self.basis = basis
        self.classes = [str(name) for name in full.classifier.classes_]

    @cached_property
    def _logs(self) -> Float:
        assert self.full.classifier is not None
        p = np.asarray(self.full.classifier.label_distributions_[: len(self.full.files)], dtype=np.float64)
        return np.log(np.maximum(p, 1e-9))

    @cached_property
    def _strength(self) -> float:
        """s: how the logarithms of the full training grow with the scores of the same labels."""
        R = self.basis.scores(self._codes(self.full.given, self.classes), len(self.classes))
        R = R - R.mean(axis=1, keepdims=True)
        centered = self._logs - self._logs.mean(axis=1, keepdims=True)
        return STRENGTH * max(float((centered * R).sum() / max((R * R).sum(), 1e-12)), 0.0)

    def _codes(self, labels: list[str], names: list[str]) -> NDArray[np.int64]:
        code = {name: c for c, name in enumerate(names)}
        return np.array([code.get(label, -1) for label in labels], dtype=np.int64)

    def answer(self, given: Mapping[int, str]) -> Answer:
        """The answer if ``given`` (row to label) are all labels there are."""
        now = [given.get(row, "") for row in range(len(self.full.files))]
        if now == self.full.given or not given:
            return Answer(self.full.labels, self.full.confidence, self.full.runner_up, is_provisional=True)
        names = [*self.classes, *dict.fromkeys(label for label in now if label and label not in self.classes)]
        more = len(names) - len(self.classes)
        # Nothing is known yet about a new class, so it starts at the mean of the others.
        logs = np.hstack([self._logs, np.repeat(self._logs.mean(axis=1, keepdims=True), more, axis=1)])
        before, after = (self._codes(labels, names) for labels in (self.full.given, now))
        gain = self.basis.scores(after, len(names)) - self.basis.scores(before, len(names))
        return self._read(logs + self._strength * gain, names, now)

    def _read(self, logits: Float, names: list[str], given: list[str]) -> Answer:
        """Labels from logits; where the label stays, the calibrated confidence of the full training stays too."""
        full, rows = self.full, np.arange(len(logits))
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        best = p.argmax(axis=1)
        labels = [label or names[c] for label, c in zip(given, best, strict=True)]
        others = p.copy()
        others[rows, best] = -1
        second = [names[c] for c in others.argmax(axis=1)] if len(names) > 1 else [""] * len(p)
        stays = np.array([a == b for a, b in zip(labels, full.labels, strict=True)])
        confidence = np.where(stays, full.confidence, p[rows, best])
        runner_up = [full.runner_up[r] if stays[r] else second[r] for r in rows.tolist()]
        return Answer(labels, confidence, runner_up, is_provisional=True)
