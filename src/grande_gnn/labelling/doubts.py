"""Why an interval is wide, and what to do about it; and whether the labelled images are a random sample.

The test compares the labelled images with the others in three ways, none of which needs labels of the others:

1. crowding: how many of a labelled image's nearest neighbors are labelled. Images that were labelled one after another
   are crowded; images that a strategy proposed keep apart. Under the null hypothesis, as many images of each class are
   drawn at random.
2. typicality: in how many images' lists of nearest neighbors a labelled image appears. Images that were proposed, or
   picked by eye, are often typical. The null hypothesis is the same.
3. ease: the confidence of trainings on half of the labels in labelled images they did not know, and in unlabelled ones
   (Kolmogorov and Smirnov's test).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

__all__ = ["SampleTest", "reasons", "sample_test"]

Float = NDArray[np.float64]
Codes = NDArray[np.int64]

N_PERMUTATIONS = 799
"""Random choices of the labelled images to compare with: enough for a p-value of 0.0025."""

ENOUGH = 10
"""No more choices are drawn once so many lie on either side of what is observed (Besag & Clifford, 1991): the p-value is
then far above what would reject, whatever the other choices are."""

SIGNIFICANT = 0.01
"""How often a random sample is wrongly reported as not being one."""

NARROW = 0.1
"""Intervals up to ten points wide need no explanation."""

MANY = 20_000
"""Above this many samples, permutations are drawn class by class."""


@dataclass(frozen=True)
class SampleTest:
    """p-values of the three comparisons of labelled with unlabelled images."""

    crowding: float
    typicality: float
    ease: float

    @property
    def rejects_random_sample(self) -> bool:
        """Whether the test rejects that the labelled images are a random sample (Bonferroni, three comparisons)."""
        return 3 * min(self.crowding, self.typicality, self.ease) < SIGNIFICANT


def sample_test(
    lists: NDArray[np.int32], known: NDArray[np.bool_], classes: Codes, held_out: Float, unlabelled: Float
) -> SampleTest:
    """Compare the labelled samples with the others.

    Parameters
    ----------
    lists : ranked lists of all samples, each sample first in its own.
    known : which samples are labelled.
    classes : the class of each sample, given or predicted.
    held_out, unlabelled : confidences in labelled samples by a training that did not know them, and in the others.
    """
    crowding, typicality = _against_chance(lists, known, classes)
    enough = min(len(held_out), len(unlabelled)) >= 2
    ease = float(ks_2samp(held_out, unlabelled).pvalue) if enough else 1.0
    return SampleTest(crowding, typicality, ease)


def _against_chance(
    lists: NDArray[np.int32], known: NDArray[np.bool_], classes: Codes
) -> tuple[float, float]:
    """Two-sided p-values: labelled samples among the neighbors of labelled samples, and how typical labelled ones are."""
    if known.all() or not known.any() or lists.shape[1] < 2:
        return 1.0, 1.0
    rng = np.random.default_rng(0)
    typical = np.log1p(np.bincount(lists[:, 1:].ravel(), minlength=len(known)))
    others = np.ascontiguousarray(lists[:, 1:])  # rows are read in random order, so each should be contiguous
    observed = np.array([known[others[known]].mean(), typical[known].mean()])
    tie = 1e-12 * np.maximum(np.abs(observed), 1.0)  # numbers that differ by rounding only
    wanted = np.bincount(classes[known], minlength=int(classes.max()) + 1)
    starts = np.concatenate([[0], np.cumsum(np.bincount(classes, minlength=len(wanted)))[:-1]])
    draw = _draw_by_class if len(classes) > MANY else _draw_by_order
    by_class = np.argsort(classes, kind="stable")
    mask = np.zeros(len(classes), dtype=bool)
    not_below, not_above = np.zeros(2), np.zeros(2)
    n_drawn = 0
    while n_drawn < N_PERMUTATIONS and np.minimum(not_below, not_above).min() < ENOUGH:
        rows = draw(rng, classes, wanted, starts, by_class)
        mask[rows] = True
        drawn = np.array([mask[others[rows]].mean(), typical[rows].mean()])
        mask[rows] = False
        not_below += drawn >= observed - tie
        not_above += drawn <= observed + tie
        n_drawn += 1
    fewer = np.minimum(not_below, not_above)
    crowding, typicality = np.minimum(1.0, 2 * (1 + fewer) / (n_drawn + 1)).tolist()
    return crowding, typicality


def _draw_by_order(
    rng: np.random.Generator, classes: Codes, wanted: Codes, starts: Codes, by_class: Codes
) -> Codes:
    """As many random samples of each class as ``wanted`` says, from a random order of all samples."""
    order = np.lexsort((rng.random(len(classes)), classes))
    place = np.arange(len(classes)) - starts[classes[order]]
    return order[place < wanted[classes[order]]]


def _draw_by_class(
    rng: np.random.Generator, classes: Codes, wanted: Codes, starts: Codes, by_class: Codes
) -> Codes:
    """The same without a pass over all samples: the work grows with the labels only.

    Places are drawn for all classes at once, and drawn again where a place is taken: every set of places is equally
    likely. If more than half of a class is wanted, those left out are drawn instead.
    """
    edges = np.append(starts, len(classes))
    sizes = np.diff(edges)
    left_out = 2 * wanted > sizes
    fewer = np.where(left_out, sizes - wanted, wanted)
    missing, taken = fewer, np.empty(0, dtype=np.int64)
    while missing.any():
        places = np.repeat(starts, missing) + rng.integers(np.repeat(sizes, missing))
        taken = np.sort(np.concatenate([taken, places]))
        taken = taken[np.diff(taken, prepend=-1) > 0]
        missing = fewer - np.diff(np.searchsorted(taken, edges))
    if left_out.any():
        everyone = np.flatnonzero(np.repeat(left_out, sizes))
        taken = np.concatenate([taken[~np.repeat(left_out, sizes)[taken]], np.setdiff1d(everyone, taken)])
    return by_class[taken]


def reasons(
    spread: Mapping[str, float],
    width: float,
    *,
    n_labels: int,
    effective: float,
    n_single: int,
    test: SampleTest,
) -> list[str]:
    """Sentences on why the interval is wide and what to do, the main reason first; none if it is narrow.

    Parameters
    ----------
    spread : standard deviation by source, as :class:`~grande_gnn.labelling.expected_accuracy.AccuracyDraws` holds it.
    width : of the interval.
    n_labels, effective : number of labels, and of independent labels that would be worth as much.
    n_single : classes with one label.
    test : whether the labels are a random sample.
    """
    if width <= NARROW and not test.rejects_random_sample:
        return []
    sentences = {
        "labels": _about_labels(n_labels, effective),
        "shift": "The labelled images differ from the others: label some images picked at random.",
        "gain": "Models trained on half of the labels often disagree with the final one: label more images of each class.",
        "unseen": f"{_count(n_single)} with one label, so there may be more classes that nobody labelled: look at the "
        "images that are flagged as unfamiliar.",
    }
    largest = max(spread.values(), default=0.0)
    order = sorted(spread, key=lambda name: -spread[name])
    said = [sentences[name] for name in order if spread[name] > 0 and spread[name] >= largest / 2]
    if test.rejects_random_sample and sentences["shift"] not in said:
        said.append(sentences["shift"])
    return said


def _about_labels(n_labels: int, effective: float) -> str:
    if not effective:
        return (
            "Each class has only one label, not counting copies, so none could be held out: label a second image of each "
            "class."
        )
    if effective < 0.7 * n_labels:
        worth = max(1, round(effective))
        return (
            f"The {n_labels} labels are worth only {worth} independent {'ones' if worth > 1 else 'one'}, because they are "
            "next to each other in file order or unevenly spread over the classes: label images that are far apart."
        )
    return f"There are only {n_labels} labels: label more images."


def _count(n: int) -> str:
    return "There is one class" if n == 1 else f"There are {n} classes"
