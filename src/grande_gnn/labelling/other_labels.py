"""What a trained committee would predict with other labels, without training it again.

The logits Z of a member change with its labels almost as a linear model of its diffused features Φ does. Φ is computed with
the degree of the last training, so that SGC with that degree would be exactly such a model. New labels change Z to Z + Φ D,
where D minimizes

    L_now(Z + Φ D)  −  ⟨∇L_then(Z), Φ D⟩  +  λ/2 ‖D‖²           L: weighted cross-entropy of the labelled samples

The second term cancels the gradient of the labels of the training, so D = 0 if no label has changed. The penalty λ is that
of the training itself. A linear model that is trained with it has −K g = λ Z at the labelled samples, with K = Φ Φᵀ and
g = ∇L_then(Z); the least squares solution for 1/λ gives

    λ = ‖K g‖² / −⟨K g, Z⟩

A training that fits its labels well has a small λ, and new labels change its answer a lot. A training that hardly fits them
has a large λ, and they change little. Temperatures and weights of the members stay as they are: in full trainings that
differ by up to 20 labels, they change at most 3 % of the answers (docs/review.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from grande_gnn.classifier import GrandeClassifier
from grande_gnn.classifier.label_weights import balanced_weights, trust_in_labels

__all__ = ["OtherLabels", "Part", "principal_components"]

DIMENSIONS, SAMPLE = 192, 3000
"""Principal components of the features that are diffused, so few that an answer takes a fraction of a second, and samples
from which these are computed."""

ITERATIONS = 200
"""At most so many steps of L-BFGS, so that an answer never takes long."""

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
Float = NDArray[np.float64]
Float32 = NDArray[np.float32]


def principal_components(classifier: GrandeClassifier) -> Float32:
    """The normalized features in their first principal components; they do not depend on labels."""
    X = classifier.problem_.inputs
    centered = X - X.mean(axis=0)
    if X.shape[1] <= DIMENSIONS:
        return centered
    sample = centered[np.random.default_rng(0).permutation(len(X))[:SAMPLE]].astype(np.float64)
    _, directions = np.linalg.eigh(sample.T @ sample)
    return np.asarray(centered @ directions[:, -DIMENSIONS:].astype(np.float32))


@dataclass(frozen=True, eq=False)
class Labels:
    """The class code of each labelled sample (−1: none) among some samples, its weight, and which classes have labels."""

    codes: Codes
    weights: Float
    known: Mask

    def residuals(self, logits: Float) -> Float:
        """∂L/∂logits: w (softmax − one-hot), 0 for samples without a label and for classes without labels."""
        rows = np.flatnonzero(self.codes >= 0)
        out = np.zeros(logits.shape)
        out[rows] = softmax(np.where(self.known, logits[rows], -np.inf), axis=1)
        out[rows, self.codes[rows]] -= 1
        return out * self.weights[:, None]

    def loss(self, logits: Float) -> float:
        """L: the weighted sum of the cross-entropies."""
        rows = np.flatnonzero(self.codes >= 0)
        log_p = log_softmax(np.where(self.known, logits[rows], -np.inf), axis=1)
        return -float(self.weights[rows] @ log_p[np.arange(len(rows)), self.codes[rows]])

    def at(self, rows: NDArray[np.int64]) -> Labels:
        """The labels of these samples only."""
        return Labels(self.codes[rows], self.weights[rows], self.known)


@dataclass(frozen=True, eq=False)
class Part:
    """A member of the committee: its logits Z, its features Φ, and how its logits become its share of the answer."""

    logits: Float32
    features: Float32
    temperature: float
    weight: float

    @classmethod
    def of(cls, logits: NDArray[Any], features: NDArray[Any], temperature: float, weight: float) -> Part:
        """Logits with mean 0 over the classes, and features scaled to rows of mean squared length 1."""
        length = np.sqrt(np.square(features).sum(axis=1).mean())
        centered = logits - logits.mean(axis=1, keepdims=True)
        scaled = features / (length or 1)
        return cls(centered.astype(np.float32), scaled.astype(np.float32), temperature, weight)

    def with_labels(self, then: Labels, now: Labels) -> Float32:
        """Z + Φ D; a class that is new starts at 0, the mean of the others."""
        more = len(now.known) - self.logits.shape[1]
        Z = np.pad(self.logits, ((0, 0), (0, more)))
        rows = np.flatnonzero((then.codes >= 0) | (now.codes >= 0))
        D = change(
            self.features[rows].astype(np.float64), Z[rows].astype(np.float64), then.at(rows), now.at(rows)
        )
        return np.asarray(Z + self.features @ D.astype(np.float32))


def penalty(features: Float, logits: Float, then: Labels) -> float:
    """λ of the training; infinite if its logits say nothing about its labels."""
    g = then.residuals(logits)
    follows = (features @ (features.T @ g))[then.codes >= 0]
    against = -float((follows * logits[then.codes >= 0]).sum())
    return float((follows * follows).sum()) / against if against > 0 else np.inf


def change(features: Float, logits: Float, then: Labels, now: Labels) -> Float:
    """D from the features and logits of all samples that have or had a label."""
    shape = features.shape[1], logits.shape[1]
    strength = penalty(features, logits, then)
    if not np.isfinite(strength):
        return np.zeros(shape)
    before = features.T @ then.residuals(logits)

    def objective(flat: Float) -> tuple[float, Float]:
        D = flat.reshape(shape)
        Z = logits + features @ D
        value = now.loss(Z) - (before * D).sum() + strength / 2 * (D * D).sum()
        return float(value), (features.T @ now.residuals(Z) - before + strength * D).ravel()

    found = minimize(
        objective, np.zeros(shape).ravel(), method="L-BFGS-B", jac=True, options={"maxiter": ITERATIONS}
    )
    return np.asarray(found.x.reshape(shape))


class OtherLabels:
    """Answers of a classifier for other labels of the fitted samples.

    Parameters
    ----------
    classifier : a fitted classifier.
    components : its :func:`principal_components`, or those of a classifier with the same features.
    """

    def __init__(self, classifier: GrandeClassifier, components: Float32) -> None:
        committee, self.n_classes = classifier.committee_, len(classifier.classes_)
        self.parts = [
            Part.of(member.fitted_logits(), member.diffused(components), member.temperature, member.weight)
            for member in committee.members
        ]
        linear = committee.graph_free
        if linear is not None:  # its features are not diffused
            self.parts.append(
                Part.of(linear.logits(classifier.problem_.inputs), components, 1.0, linear.weight)
            )
        self.trust = trust_in_labels(classifier.halves_, len(components))
        self.is_automatic = classifier.selection_ is not None

    def probabilities(self, then: Codes, now: Codes, n_classes: int) -> Float:
        """Class probabilities of all samples if the labels were ``now`` instead of ``then``, those of the training.

        Codes from the number of the classifier's classes up to ``n_classes`` are new classes. Classes without a label
        get probability 0.
        """
        before = self._labels(then, then, n_classes)
        after = self._labels(now, then, n_classes)
        among = np.where(after.known, 0.0, -np.inf)
        total = np.zeros((len(now), n_classes))
        for part in self.parts:
            Z = part.with_labels(before, after).astype(np.float64)
            total += part.weight * softmax(Z / part.temperature + among, axis=1)
        return total

    def _labels(self, codes: Codes, then: Codes, n_classes: int) -> Labels:
        """The labels with their weights in a training; labels of which the training knew nothing are trusted."""
        weights = (codes >= 0).astype(np.float64)
        if self.is_automatic:
            weights = balanced_weights(codes, np.where(codes == then, self.trust, 1.0))
        return Labels(codes, weights, np.bincount(codes[codes >= 0], minlength=n_classes) > 0)
