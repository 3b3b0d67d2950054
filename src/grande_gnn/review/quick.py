"""The quick answer: what the last full training would say with other labels, without training.

A logistic regression of the classes on diffused features is fitted once with the labels of the last full training and once
with the present ones. The difference says how much the new labels favor each class at each image, and is added to the
logarithms of the probabilities P of the full training:

    Z = diffused features: ten steps of personalized PageRank of the principal components, on the graph of each member
    F(labels) = logits of logistic regression on the labelled rows of Z, in which all classes count the same; mean over Z
    quick = r (log P − s F(then)) + s F(now),                   s: the slope of log P on F(then)

What logistic regression cannot explain about the full training counts less, the more labels are new: r = 1 − (1 − q) R² with
the share q of the labels that are the same then and now, and the share R² of log P that F(then) explains. So the answer of
the full training stays where the new labels say nothing, if they are few or if logistic regression is no good model of it.
Z is computed once; an answer then takes a fraction of a second, and is marked as provisional until the full training has
replaced it. docs/review.md tells how often both agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from grande_gnn.labelling.result import Labelling

__all__ = ["Answer", "Basis", "QuickAnswer", "answer_of", "basis_of"]

DIMENSIONS, SAMPLE = 192, 3000
"""Principal components of the features that are diffused, and images from which these are computed; with twice as many
components the answers on Flowers17 hardly change."""

STEPS, RETURN = 10, 0.1
"""The diffusion of the default model."""

PENALTY = 0.01
"""λ of logistic regression, Σ loss + λ/2 ‖W‖², rows of Z of mean squared length 1: small, because Z is smooth."""

ITERATIONS = 200
"""At most so many steps of L-BFGS, so that an answer never takes long."""

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
    """The diffused features Z on the graph of each member."""

    parts: tuple[NDArray[np.float32], ...]

    def fit(self, codes: NDArray[np.int64], n_classes: int, start: Float | None = None) -> Float:
        """W for each part: logistic regression on the labelled rows (code ≥ 0); ``start``: a solution nearby."""
        begin = np.zeros((len(self.parts), self.parts[0].shape[1], n_classes)) if start is None else start
        return np.stack([_regression(Z, codes, W) for Z, W in zip(self.parts, begin, strict=True)])

    def logits(self, weights: Float, known: NDArray[np.bool_]) -> Float:
        """F: the mean logits of every row by these W, with mean 0 over the known classes, and 0 for the others."""
        total = sum(Z @ W.astype(np.float32) for Z, W in zip(self.parts, weights, strict=True))
        F = np.asarray(total, dtype=np.float64) / len(self.parts)
        return np.where(known, F - F[:, known].mean(axis=1, keepdims=True), 0.0)


def _regression(Z: NDArray[np.float32], codes: NDArray[np.int64], start: Float) -> Float:
    """The W that minimizes Σᵢ wᵢ (−log softmax(zᵢ W)[yᵢ]) + λ/2 ‖W‖²; classes without labels get no probability."""
    rows = np.flatnonzero(codes >= 0)
    known, y, counts = np.unique(codes[rows], return_inverse=True, return_counts=True)
    z, w, places = Z[rows].astype(np.float64), len(rows) / (len(known) * counts[y]), np.arange(len(rows))

    def loss(flat: Float) -> tuple[float, Float]:
        W = flat.reshape(z.shape[1], -1)
        log_p = log_softmax(z @ W, axis=1)
        error = np.exp(log_p)
        error[places, y] -= 1
        value = -(w @ log_p[places, y]) + PENALTY / 2 * np.sum(W * W)
        return float(value), (z.T @ (w[:, None] * error) + PENALTY * W).ravel()

    found = minimize(
        loss, start[:, known].ravel(), method="L-BFGS-B", jac=True, options={"maxiter": ITERATIONS}
    )
    W = np.zeros(start.shape)
    W[:, known] = found.x.reshape(len(start), -1)
    return W


def basis_of(full: Labelling) -> Basis:
    """The basis of a labelling; it depends on features and graphs alone, so it works for all labels."""
    assert full.classifier is not None  # a labelling without one has no quick answer
    assert full.neighbors is not None
    n = len(full.files)
    centered = _unit(_principal(full.neighbors.features))
    graphs = [member.problem.graph for member in full.classifier.committee_.members]
    return Basis(tuple(_diffused(centered, graph.to_scipy(np.float32)[:n, :n]) for graph in graphs))


def _diffused(features: NDArray[np.float32], A: sp.csr_matrix) -> NDArray[np.float32]:
    """The features after ten steps on a graph, scaled to mean squared length 1 of the rows."""
    scale = sp.diags((1 / np.sqrt(np.maximum(np.asarray(A.sum(axis=1)).ravel(), 1))).astype(np.float32))
    spread = (scale @ A @ scale).tocsr()
    H = features
    for _ in range(STEPS):
        H = (1 - RETURN) * (spread @ H) + RETURN * features
    length = np.sqrt(np.square(H).sum(axis=1).mean())
    return np.asarray(H / (length or 1), dtype=np.float32)


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


def _with_labels(codes: NDArray[np.int64], n_classes: int) -> NDArray[np.bool_]:
    """Which classes have a label."""
    return np.bincount(codes[codes >= 0], minlength=n_classes) > 0


def _padded(array: Float, more: int) -> Float:
    """The array with columns of zeros for new classes."""
    return np.concatenate([array, np.zeros((*array.shape[:-1], more))], axis=-1)


class QuickAnswer:
    """Answers for other labels than those of a full training, without training again."""

    def __init__(self, full: Labelling, basis: Basis) -> None:
        assert full.classifier is not None  # a labelling without one has no quick answer
        self.full = full
        self.basis = basis
        self.classes = [str(name) for name in full.classifier.classes_]

    @cached_property
    def _logs(self) -> Float:
        """log P with mean 0 over the classes."""
        assert self.full.classifier is not None
        p = np.asarray(self.full.classifier.label_distributions_[: len(self.full.files)], dtype=np.float64)
        logs = np.log(np.maximum(p, 1e-9))
        return logs - logs.mean(axis=1, keepdims=True)

    @cached_property
    def _then(self) -> tuple[Float, Float]:
        """W and F of the labels of the full training."""
        codes = self._codes(self.full.given, self.classes)
        W = self.basis.fit(codes, len(self.classes))
        return W, self.basis.logits(W, _with_labels(codes, len(self.classes)))

    @cached_property
    def _slope(self) -> float:
        """s: how the logarithms of the full training grow with the logits of the same labels."""
        F = self._then[1]
        return max(float((self._logs * F).sum() / max((F * F).sum(), 1e-12)), 0.0)

    @cached_property
    def _explained(self) -> float:
        """R²: the share of log P that s F(then) explains."""
        rest = self._logs - self._slope * self._then[1]
        return 1 - float((rest * rest).sum() / max((self._logs * self._logs).sum(), 1e-12))

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
        # Nothing is known yet about a new class, so it starts at 0, the mean of the others.
        W, then, logs = (_padded(a, more) for a in (*self._then, self._logs))
        before, after = (self._codes(labels, names) for labels in (self.full.given, now))
        known = _with_labels(after, len(names))
        F = self.basis.logits(self.basis.fit(after, len(names), W), known)
        same = np.sum((before == after) & (after >= 0)) / np.sum((before >= 0) | (after >= 0))
        kept = 1 - (1 - same) * self._explained
        logits = kept * (logs - self._slope * then) + self._slope * F
        return self._read(np.where(known, logits, -np.inf), names, now)

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
