"""The probability that a prediction of a given confidence is right, and that a label is wrong, estimated from held-out
labels.

    P(right | c) = σ(a + b · logit c)

A held-out prediction and the given label contradict each other if the prediction is wrong, or if the label is. If a share ε
of the labels is wrong, then with q = P(right | c)

    P(agree)                  = (1 − ε) q
    P(contradicted, class k)  = ε u_k + (1 − ε)(1 − q) r_k

where r_k is the share of the remaining probability that the prediction gives to the class k of the label, and u_k is
nearly the same for all classes: wrong predictions confuse similar classes, wrong labels may name any class. If several ways
to compute r_k are given, each gets a posterior probability, too.

The curve (a, b) and ε are not fitted values but a posterior on a grid: weak priors around a = 0, b = 1, ε = 0, multiplied by
the likelihood. With few labels the posterior stays broad, so everything computed from it is uncertain too. Without labels
it is the prior. The curve is Platt's (1999).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

__all__ = ["Correctness", "fit_correctness", "log_odds"]

Float = NDArray[np.float64]

SURE = 8.0
"""Larger log-odds, of confidences above 0.9997, count as this."""

OFFSET_SCALE, SLOPE_SCALE, FREEDOM = 0.75, 0.3, 3.0
"""Spread and degrees of freedom of the Student-t priors of a (around 0) and b (around 1)."""

WRONG = np.array([0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3])
"""The shares of wrong labels that are considered."""

WRONG_SCALE, LEAST_WRONG = 0.1, 0.01
"""Mean of the exponential prior of the share of wrong labels with many classes, and with two: there a wrong label and a
wrong prediction look the same, and labels get the benefit of the doubt."""

N_OFFSETS, N_SLOPES = 41, 21
"""Size of the grid of curves."""

N_PASSES = 3
"""From the second pass on, the grid covers only the region where the previous pass found weight."""

N_BINS = 321
"""Samples with nearly the same log-odds are counted together, 0.05 apart."""

ANY_CLASS, ANY_LABEL = 0.2, 0.8
"""How much of a wrong prediction's remaining probability, and of a wrong label's, belongs to all classes alike. On hard
data, a wrong prediction often gives the true class little probability; if the first number were smaller, correct labels
would then look wrong."""


def log_odds(confidence: Float) -> Float:
    """logit c, cut off at ±8."""
    with np.errstate(divide="ignore"):
        return np.clip(logit(np.asarray(confidence, dtype=np.float64)), -SURE, SURE)


@dataclass(frozen=True, eq=False)
class Correctness:
    """Curves σ(offset + slope · logit c) with their posterior probabilities, which sum to 1."""

    offsets: Float
    slopes: Float
    weights: Float
    wrong: Float
    """For each curve, the posterior probabilities of the shares :data:`WRONG` of wrong labels; rows sum to 1."""
    ways: Float = field(default_factory=lambda: np.ones(1))
    """Posterior probabilities of the ways to compute the share of a label's class."""

    def probability(self, confidence: Float) -> Float:
        """Posterior mean of P(right | c) for each confidence."""
        grid = np.linspace(-SURE, SURE, N_BINS)
        curve = self.weights @ expit(self.offsets[:, None] + self.slopes[:, None] * grid)
        return np.interp(log_odds(confidence), grid, curve)

    def accuracies(self, confidence: Float) -> Float:
        """For each curve, the share of right predictions that it expects among samples of these confidences."""
        grid = np.linspace(-SURE, SURE, N_BINS)
        share = np.bincount(_place(confidence), minlength=N_BINS) / max(len(confidence), 1)
        filled = share > 0
        return expit(self.offsets[:, None] + self.slopes[:, None] * grid[filled]) @ share[filled]

    @property
    def wrong_share(self) -> float:
        """Posterior mean of the share of wrong labels."""
        return float(self.weights @ self.wrong @ WRONG)

    def wrong_label(self, confidence: Float, own: Float, n_classes: int) -> Float:
        """Posterior probability that the label which contradicts a prediction is wrong.

        Parameters
        ----------
        confidence : of the prediction.
        own : the share of the remaining probability that the prediction gives to the label's class; a column for each way
            to compute it.
        """
        likely = np.empty(len(confidence))
        by_prediction, by_label = _own_shares(_columns(own) @ self.ways, n_classes)
        for i, x in enumerate(log_odds(confidence)):
            missed = expit(-(self.offsets + self.slopes * x))[:, None]
            mistaken = WRONG * by_label[i]
            share = mistaken / (mistaken + (1 - WRONG) * missed * by_prediction[i])
            likely[i] = self.weights @ (self.wrong * share).sum(axis=1)
        return likely


def fit_correctness(
    confidence: Float,
    right: Float,
    weights: Float | None = None,
    *,
    own: Float | None = None,
    n_classes: int = 2,
) -> Correctness:
    """The posterior from held-out predictions.

    Parameters
    ----------
    confidence : the confidence of each held-out prediction.
    right : 1 where the label agrees with it, else 0.
    weights : how many labels each counts for, at most 1; None: one each.
    own : where the label contradicts, the share of the remaining probability that its class has; several columns: several
        ways to compute it, equally likely before the labels are seen; None: all of it.
    """
    weights = np.ones(len(confidence)) if weights is None else weights
    counted = weights > 0
    agrees = counted & (np.asarray(right) > 0)
    misses = np.flatnonzero(counted & ~agrees)
    x = np.linspace(-SURE, SURE, N_BINS)
    place = _place(confidence)
    hits = np.bincount(place[agrees], weights[agrees], minlength=N_BINS)
    filled = hits > 0
    x_hit, hits = x[filled], hits[filled]
    own = np.ones(len(place)) if own is None else own
    missed = [_counted_together(place[misses], way, weights[misses]) for way in _columns(own)[misses].T]
    x_all = np.concatenate([x_hit, x[missed[0].place]])
    mass = np.concatenate([hits, missed[0].count])
    center = float(np.average(x_all, weights=mass)) if len(x_all) else 0.0
    # Heights at the center of the data and slopes are nearly independent, so their grid can be rectangular.
    heights, slopes = (-10.0, 14.0), (0.0, 3.0)
    for _ in range(N_PASSES):
        height, slope = (
            part.ravel()
            for part in np.meshgrid(
                np.linspace(*heights, N_OFFSETS), np.linspace(*slopes, N_SLOPES), indexing="ij"
            )
        )
        offset = height - slope * center
        prior = _log_t(offset / OFFSET_SCALE) + _log_t((slope - 1) / SLOPE_SCALE)
        agreed = log_expit(offset[:, None] + slope[:, None] * x_hit) @ hits
        log_posterior = np.stack([
            _log_posterior(prior + agreed, expit(-(offset[:, None] + slope[:, None] * x[way.place])), float(hits.sum()),
                           way, n_classes)
            for way in missed
        ])  # fmt: skip
        each = np.exp(log_posterior - log_posterior.max())
        joint = each.sum(axis=0)
        posterior = joint.sum(axis=1)
        joint /= np.maximum(posterior, 1e-300)[:, None]
        posterior /= posterior.sum()
        heights = _around(height, posterior, heights, N_OFFSETS)
        slopes = _around(slope, posterior, slopes, N_SLOPES)
    return Correctness(offset, slope, posterior, joint, each.sum(axis=(1, 2)) / each.sum())


def _log_posterior(known: Float, misfit: Float, n_hits: float, missed: _Missed, n_classes: int) -> Float:
    """For each curve and each share of wrong labels; ``known`` is what does not depend on that share."""
    return np.stack(
        [
            known + log_wrong + n_hits * np.log1p(-share) + missed.log_likelihood(misfit, share, n_classes)
            for share, log_wrong in zip(WRONG, _log_prior_wrong(n_classes), strict=True)
        ],
        axis=1,
    )


@dataclass(frozen=True, eq=False)
class _Missed:
    """Contradicted predictions, those with nearly the same confidence and share of their class counted together."""

    place: NDArray[np.int64]
    own: Float
    count: Float

    def log_likelihood(self, misfit: Float, wrong: float, n_classes: int) -> Float:
        """For each curve; ``misfit`` is its P(prediction wrong) at each place."""
        by_prediction, by_label = _own_shares(self.own, n_classes)
        likelihood = misfit * ((1 - wrong) * by_prediction)
        likelihood += wrong * by_label
        np.maximum(
            likelihood, 1e-300, out=likelihood
        )  # in place: new memory takes longer than the arithmetic
        return np.log(likelihood, out=likelihood) @ self.count


def _counted_together(place: NDArray[np.int64], own: Float, weights: Float) -> _Missed:
    level = np.rint(2 * np.log(np.maximum(own, 1e-4))).astype(np.int64)
    pairs, which = np.unique(np.stack([place, level], axis=1), axis=0, return_inverse=True)
    count = np.bincount(which.ravel(), weights, minlength=len(pairs)).astype(np.float64)
    return _Missed(pairs[:, 0], np.exp(pairs[:, 1] / 2), count)


def _own_shares(own: Float, n_classes: int) -> tuple[Float, Float]:
    """How likely a contradicting label has its class if the prediction is wrong, and if the label is."""
    any_class = 1 / max(n_classes - 1, 1)
    by_prediction = (1 - ANY_CLASS) * own + ANY_CLASS * any_class
    return by_prediction, (1 - ANY_LABEL) * by_prediction + ANY_LABEL * any_class


def _log_prior_wrong(n_classes: int) -> Float:
    scale = max(LEAST_WRONG, WRONG_SCALE * (1 - 1 / max(n_classes - 1, 1)))
    edges = np.concatenate([[0], (WRONG[1:] + WRONG[:-1]) / 2, [np.inf]])
    return -edges[:-1] / scale + np.log(-np.expm1(-(edges[1:] - edges[:-1]) / scale))


def _columns(own: Float) -> Float:
    return own[:, None] if own.ndim == 1 else own


def _place(confidence: Float) -> NDArray[np.int64]:
    """The bin of the log-odds of each confidence."""
    return np.rint((log_odds(confidence) + SURE) / (2 * SURE) * (N_BINS - 1)).astype(np.int64)


def _log_t(z: Float) -> Float:
    return -(FREEDOM + 1) / 2 * np.log1p(z * z / FREEDOM)


def _around(values: Float, weights: Float, limits: tuple[float, float], n: int) -> tuple[float, float]:
    """Five standard deviations, and at least two steps of the grid, to both sides of the mean, within the limits."""
    mean = float(weights @ values)
    step = (limits[1] - limits[0]) / (n - 1)
    spread = max(5 * float(np.sqrt(weights @ (values - mean) ** 2)), 2 * step)
    return max(limits[0], mean - spread), min(limits[1], mean + spread)
