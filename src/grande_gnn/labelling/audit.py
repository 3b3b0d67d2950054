"""The accuracy of a labelling from a random sample that somebody judged, valid whenever one stops.

The N images are drawn in random order without replacement; M of them have a wrong label. After n images with k errors

    P(outcomes | M) = C(N − n, M − k) / C(N, M),     P(outcomes) = B(a + k, b + n − k) / B(a, b)

where the second averages the first over a beta-binomial prior of M. Their ratio P(outcomes) / P(outcomes | M) is, for the
true M, a martingale that starts at 1, so by Ville's inequality the probability that it ever reaches 1/α is at most α. The
interval holds every M whose ratio has stayed below 1/α since the first image: a confidence sequence, which is right at
all n at once, so one may look after each image and stop when one likes (Waudby-Smith & Ramdas, Confidence sequences for
sampling without replacement, NeurIPS 2020). The prior decides how narrow the interval is, never whether it is valid.

What is estimated is the accuracy (N − n − M + k) / (N − n) of the images that were not audited. The interval holds the
accuracy of all N images too, because that lies between the accuracy of the sample and that of the others.

Three things keep it valid: the order is drawn before anybody looks (:func:`audit_order`), the answer is hidden until the
image is judged, and audited images are not trained on. When the labels change during the audit, the same sample is scored
again with the new labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, logsumexp

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_integer, check_real

__all__ = [
    "AuditEstimate",
    "Prior",
    "audit_classes",
    "audit_interval",
    "audit_order",
    "confidence_sequence",
    "error_bounds",
    "prior_of_errors",
]

Integers = NDArray[np.int64]

Prior = tuple[tuple[float, float, float], ...]
"""A mixture of beta distributions of the share of errors: a weight, a and b for each."""

USUAL: Prior = ((1.0, 1.0, 3.0),)
"""What is assumed about the share of errors if no accuracy is expected: less than a half is likelier than more."""

EXPECTED_WEIGHT, EXPECTED_COUNT = 0.9, 50.0
"""An expected accuracy weighs as much as 50 judged images, because it is off by 5 points (root mean square over the
labellings of benchmarks/results/expected_accuracy.csv), and is disbelieved with probability 1/10."""

ENOUGH_OF_A_CLASS = 10
"""A class with this many judged images has an interval of its own; with fewer, the interval would say almost nothing."""


@dataclass(frozen=True)
class AuditEstimate:
    """The share of right labels among the images that were not audited, with its interval; all in [0, 1]."""

    value: float
    """The share of right labels in the sample; 0 is bad."""
    low: float
    high: float
    n: int
    """Images judged so far."""
    population: int = 0
    """Images from which the sample is drawn, those judged included."""
    level: float = 0.95
    """Probability with which the interval holds the truth at every n."""
    expected: float | None = None
    """The accuracy that was expected before the audit."""

    def more_for(self, half_width: float = 0.03) -> int:
        """How many more images to judge until the interval is about ``value`` ± ``half_width``.

        It is assumed that errors keep coming at the rate seen so far. Once all images are judged, nothing is left to
        estimate, so the answer is at most the number of images not judged yet.
        """
        width = 2 * check_real(half_width, name="half_width", low=0.0, open_low=True, high=1.0)
        if self.high - self.low <= width:
            return 0
        later = np.unique(np.geomspace(self.n + 1, self.population, 2000).astype(np.int64))
        rate = (self.n * (1 - self.value) + 0.5) / (self.n + 1)
        errors = np.rint(rate * later).astype(np.int64)
        low, high = error_bounds(
            errors, later, self.population, prior_of_errors(self.expected), 1 - self.level
        )
        enough = high - low <= width * (self.population - later)
        return int(later[enough.argmax()]) - self.n  # the last entry always is: no image is left to estimate


def audit_order(n_images: int, random_state: int = 0) -> Integers:
    """The order in which images are judged: all of them at random; any beginning of it is a fair sample."""
    return np.random.default_rng(random_state).permutation(check_integer(n_images, name="n_images", low=1))


def audit_interval(
    outcomes: ArrayLike, population: int, level: float = 0.95, *, expected: float | None = None
) -> AuditEstimate:
    """The accuracy of the labels that were not audited.

    Parameters
    ----------
    outcomes : for each judged image in the order of the draw, whether its present label is right.
    population : number of images in the draw, those judged included.
    level : probability with which the intervals after every image all hold the truth.
    expected : an accuracy that was expected before anything was judged, for example ``Labelling.accuracy.value``. A good
        guess makes the interval narrower; a wrong one makes it wider but not wrong.

    Examples
    --------
    >>> estimate = audit_interval([True, True, True, True, False] * 12, 20_000)
    >>> f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"
    '0.800 (0.637 to 0.922)'
    >>> estimate.more_for(0.05)
    707
    """
    right = _check_outcomes(outcomes)
    size, n = check_integer(population, name="population", low=1), len(right)
    check_real(level, name="level", low=0.0, open_low=True, high=0.9999)
    if n > size:
        raise InvalidInputError(
            f"an image is judged once, so there are at most as many outcomes as images in the draw, {size}; got {n}"
        )
    prior = prior_of_errors(expected)
    if n == 0:
        return AuditEstimate(1 - _mean(prior), 0.0, 1.0, 0, size, level, expected)
    low, high = confidence_sequence(right, size, prior, 1 - level)
    return AuditEstimate(float(right.mean()), float(low[-1]), float(high[-1]), n, size, level, expected)


def confidence_sequence(
    right: NDArray[np.bool_], population: int, prior: Prior, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The interval of the accuracy of the others after each judged image, along the last axis.

    ``right`` may hold several audits, one per row. When all images are judged, the interval is the accuracy itself.
    """
    n = np.arange(1, right.shape[-1] + 1)
    k = np.cumsum(~right, axis=-1)
    value = 1 - k / n
    low, high = error_bounds(k, n, population, prior, alpha)
    least, most = np.maximum.accumulate(low, axis=-1), np.minimum.accumulate(high, axis=-1)
    # Intervals contradict each other with probability alpha at most; then the last one counts.
    is_empty = least > most
    least, most = np.where(is_empty, low, least), np.where(is_empty, high, most)
    left = np.maximum(population - n, 1)
    worst, best = 1 - (most - k) / left, 1 - (least - k) / left
    nothing_left = n == population
    return (
        np.where(nothing_left, value, np.minimum(worst, value)),
        np.where(nothing_left, value, np.maximum(best, value)),
    )


def audit_classes(
    outcomes: ArrayLike, labels: Sequence[str], counts: Mapping[str, int], level: float = 0.95
) -> dict[str, AuditEstimate]:
    """For each class with enough judged images: how often its label is right.

    The judged images with one label are a random sample of all images with it, so each interval holds by itself; that
    all of them hold at once is not promised.

    Parameters
    ----------
    outcomes : as for :func:`audit_interval`.
    labels : the present label of each judged image.
    counts : for each label the number of images of the draw that have it.
    """
    right, own = _check_outcomes(outcomes), np.asarray(labels, dtype=str)
    if len(own) != len(right):
        raise InvalidInputError(f"labels must be one per judged image: {len(right)} outcomes; got {len(own)}")
    found = {}
    for name, count in counts.items():
        mine = right[own == name]
        if len(mine) >= ENOUGH_OF_A_CLASS:
            found[name] = audit_interval(mine, count, level)
    return found


def prior_of_errors(expected: float | None = None) -> Prior:
    """The prior of the share of errors: around ``1 − expected`` if an accuracy was expected.

    >>> prior_of_errors(0.75)
    ((0.9, 12.5, 37.5), (0.1, 1.0, 1.0))
    """
    if expected is None:
        return USUAL
    error = 1 - check_real(expected, name="expected", low=0.0, high=1.0)
    error = min(max(error, 0.02), 0.98)  # nobody is certain beforehand
    own = (EXPECTED_WEIGHT, EXPECTED_COUNT * error, EXPECTED_COUNT * (1 - error))
    return own, (round(1 - EXPECTED_WEIGHT, 9), 1.0, 1.0)


def error_bounds(
    errors: ArrayLike, drawn: ArrayLike, population: int, prior: Prior, alpha: float
) -> tuple[Integers, Integers]:
    """The smallest and the largest number of errors among all images that the data after n images allow.

    ``errors`` and ``drawn`` are numbers or arrays of the same shape: k errors among the first n images. Each pair is
    treated by itself. The confidence sequence of an audit runs from the largest lower bound to the smallest upper bound
    so far.
    """
    all_k, all_n = np.broadcast_arrays(np.asarray(errors, dtype=np.int64), np.asarray(drawn, dtype=np.int64))
    # Many audits pass through the same few pairs.
    pairs, which = np.unique(np.stack([all_k.ravel(), all_n.ravel()]), axis=1, return_inverse=True)
    k, n = pairs
    mixture = [math.log(w) + betaln(a + k, b + n - k) - betaln(a, b) for w, a, b in prior]
    limit = logsumexp(mixture, axis=0) + math.log(alpha)

    def allowed(m: Integers) -> NDArray[np.bool_]:
        return _log_choose(population - n, m - k) - _log_choose(population, m) > limit

    fewest, most = k, population - (n - k)
    # The likelihood rises up to here and falls after, so the allowed numbers are an interval around it.
    likeliest = np.clip(k * (population + 1) // np.maximum(n, 1), fewest, most)
    high = _last_allowed(allowed, likeliest, most)
    low = -_last_allowed(lambda m: allowed(-m), -likeliest, -fewest)
    return low[which].reshape(all_k.shape), high[which].reshape(all_k.shape)


def _last_allowed(
    allowed: Callable[[Integers], NDArray[np.bool_]], first: Integers, last: Integers
) -> Integers:
    """The largest allowed number from ``first``, which is allowed, up to ``last``, by bisection."""
    inside, end = first.copy(), last.copy()
    while (inside < end).any():
        middle = (inside + end + 1) // 2
        is_in = allowed(middle)
        inside = np.where(is_in, middle, inside)
        end = np.where(is_in, end, np.maximum(middle - 1, inside))
    return inside


def _log_choose(n: Integers | int, k: Integers) -> NDArray[np.float64]:
    """The logarithm of the binomial coefficient."""
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _mean(prior: Prior) -> float:
    return sum(w * a / (a + b) for w, a, b in prior)


def _check_outcomes(outcomes: ArrayLike) -> NDArray[np.bool_]:
    found = np.asarray(outcomes)
    if found.ndim != 1 or not np.isin(found, (0, 1)).all():
        raise InvalidInputError(
            f"outcomes must be one True or False per judged image; got {found.ndim} dimension(s), dtype {found.dtype}"
        )
    return found.astype(bool)
