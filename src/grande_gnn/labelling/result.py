"""From features and a few labels to a label, a confidence and flags for every image.

The rows of ``predictions.csv``: a given label is kept, and its confidence is what a model that did not know
it thinks of it; every other image gets the most probable class with its calibrated probability. The runner-up is the
most probable other class and the margin the difference to it, below 0 where a given label is contradicted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.classifier.held_out import HeldOut, held_out_folds, hold_out
from grande_gnn.classifier.problem import LabelSet
from grande_gnn.images.problems import Problem
from grande_gnn.internal.files import write_atomically
from grande_gnn.internal.validation import encode_labels
from grande_gnn.labelling.confidence import (
    AccuracyEstimate,
    Calibration,
    ReliabilityBin,
    estimate_accuracy,
    fit_offset,
    fit_temperature,
    outlier_limit,
    reliability_bins,
    suspicious_labels,
    wilson_interval,
)

__all__ = [
    "COLUMNS",
    "Labelling",
    "Suspicion",
    "Thumbnails",
    "label_features",
    "label_new_features",
    "write_predictions",
]

COLUMNS = ("file", "label", "confidence", "runner_up", "margin", "given_label", "flags")
"""The columns of ``predictions.csv``."""

ENOUGH_LABELS = 4
"""Labels of the smallest class from which halves of the labels speak for all (docs/confidence.md)."""

NEAR = 5
"""An image is far from everything when even its fifth neighbour is far."""


Thumbnails = Callable[[Sequence[int]], Iterable[Any]]
"""Given row numbers, yields a picture (a PIL image) of each in that order, or None where there is none."""


@dataclass(frozen=True)
class Suspicion:
    """A given label that a model which did not know it contradicts.

    ``row`` is the image, ``label`` what the model says instead, and ``confidence`` how sure it is (1 = certain).
    """

    row: int
    label: str
    confidence: float


@dataclass(eq=False)
class Labelling:
    """A label, a confidence and flags for every image; row i of every column is the image ``files[i]``.

    Scores lie in [0, 1], where 1 is sure; ``""`` means that there is no label.
    """

    files: list[str]
    """Path of each image relative to ``root``."""
    labels: list[str]
    """The label of each image: the given one, or the most probable class."""
    confidence: NDArray[np.float64]
    """Calibrated probability that the label is right."""
    runner_up: list[str]
    """The most probable other label; ``""`` if there is only one class."""
    margin: NDArray[np.float64]
    """``confidence`` minus the probability of the runner-up; below 0 where a given label is contradicted."""
    given: list[str]
    """The label the user gave; ``""`` if none."""
    unreached: NDArray[np.bool_]
    """True for images that no label reaches through the graph."""
    out_of_distribution: NDArray[np.bool_]
    """True for images far from every other image."""
    suspicions: list[Suspicion] = field(default_factory=list)
    """Given labels that look wrong, the surest contradiction first."""
    accuracy: AccuracyEstimate | None = None
    """Expected share of right labels among the images without a given label; None if it could not be estimated."""
    class_accuracy: dict[str, AccuracyEstimate] = field(default_factory=dict)
    """For each class: of the held-out images that received it, the share that is right."""
    bins: list[ReliabilityBin] = field(default_factory=list)
    """The reliability diagram, measured on held-out labels; empty if there were none."""
    calibration: Calibration = field(default_factory=Calibration)
    """Turns the classifier's probabilities into confidences."""
    note: str = ""
    """How the accuracy was estimated, or why it could not be; one or two sentences."""
    root: Path | None = None
    """The folder of the images; None if features were labelled and the images are unknown."""
    problems: list[Problem] = field(default_factory=list)
    """Files that could not be used, and labels that match no file, with the reason."""
    settings: dict[str, object] = field(default_factory=dict)
    """What ``settings.json`` holds: version, extractor, model, graph, σ, seed, calibration."""
    classifier: GrandeClassifier | None = None
    """The fitted classifier."""
    neighbors: Any = None
    """The :class:`~grande_gnn.graph.neighbors.Neighbors` of these images' normalised features, or None."""
    thumbnails: Thumbnails | None = None
    """Pictures of images by row number, or None if there are none."""

    def flags(self) -> list[str]:
        """The flags of each image, separated by spaces."""
        marks: list[list[str]] = [[] for _ in self.files]
        for name, marked in (
            ("unreached", self.unreached),
            ("out_of_distribution", self.out_of_distribution),
        ):
            for i in np.flatnonzero(marked):
                marks[i].append(name)
        for suspicion in self.suspicions:
            marks[suspicion.row].append("suspicious_label")
        return [" ".join(names) for names in marks]


def label_features(
    features: NDArray[np.float32], files: Sequence[str], given: Sequence[str], clf: GrandeClassifier
) -> Labelling:
    """Fit ``clf`` and say how sure it is. ``given`` has one label an image, ``""`` where there is none."""
    clf.fit(features, list(given))
    codes, _ = encode_labels(list(given))
    given = [label if code >= 0 else "" for label, code in zip(given, codes, strict=True)]  # blanks are none
    held_out = clf.selection_.held_out if clf.selection_ is not None else _held_out(clf, features, codes)
    if held_out is None:
        result = _answers(clf.label_distributions_, clf, list(files), given)
        result.note = _why_unchecked(codes)
    else:
        by_temperature = Calibration(fit_temperature(held_out))
        unsure = clf.label_distributions_[codes < 0]
        accuracy, calibration = None, by_temperature
        if len(unsure):
            confidence = float(by_temperature.probabilities(unsure).max(axis=1).mean())
            agreement = _agreement_of_halves(clf, features, codes)
            accuracy = estimate_accuracy(confidence, agreement, len(held_out.rows))
            calibration = fit_offset(by_temperature.temperature, unsure, accuracy.value)
        known = by_temperature.probabilities(softmax(held_out.logits, axis=1))
        probabilities = calibration.probabilities(clf.label_distributions_)
        probabilities[held_out.rows] = known
        result = _answers(probabilities, clf, list(files), given)
        result.accuracy, result.calibration = accuracy, calibration
        names = clf.classes_.astype(str)
        doubts = suspicious_labels(held_out, by_temperature)
        result.suspicions = [Suspicion(row, str(names[c]), p) for row, c, p in doubts]
        result.bins = reliability_bins(known.max(axis=1), held_out.hits)
        result.class_accuracy = _by_class(held_out, known, names)
        result.note = (
            f"Models trained on different parts of the {len(held_out.rows)} labels were compared on the unlabelled "
            "images: the more often they agree, the more often they are right."
        )
    result.unreached = ~clf.reached_
    distances = _near_distances(clf)
    result.out_of_distribution = distances > outlier_limit(distances)
    return result


def _why_unchecked(codes: NDArray[np.int64]) -> str:
    """Why there are no held-out predictions, and what to do."""
    if codes.max() == 0:
        return "Only one class is labelled, so every image gets it: label some images of another class too."
    return (
        "Some class has fewer than 2 labels, so accuracy and confidence could not be checked: label one more image of "
        "each such class."
    )


def _agreement_of_halves(
    clf: GrandeClassifier, features: NDArray[np.float32], codes: NDArray[np.int64]
) -> float:
    """How often two trainings from disjoint halves of the labels agree on the unlabelled images.

    Where a class has so few labels that a half of them says little about all, the halves are compared with the training
    from all labels instead of with each other.
    """
    one, other = _half_predictions(clf, features, codes)
    unknown = codes < 0
    if np.bincount(codes[~unknown]).min() >= ENOUGH_LABELS:
        return float(np.mean((one == other)[unknown]))
    full = clf.label_distributions_.argmax(axis=1)
    return float(np.mean([(half == full)[unknown] for half in (one, other)]))


def _half_predictions(
    clf: GrandeClassifier, features: NDArray[np.float32], codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The predictions of two trainings from disjoint halves of the labels."""
    replicas = []
    for f, half in enumerate(held_out_folds(codes, 2)):
        known = codes.copy()
        known[half] = -1
        replicas.append(LabelSet(known, f))
    one, other = clf.problem_.train(replicas)
    return one.predictions, other.predictions


def label_new_features(
    features: NDArray[np.float32], files: Sequence[str], clf: GrandeClassifier, calibration: Calibration
) -> Labelling:
    """Labels of new images from a fitted classifier; nothing is trained."""
    probabilities, reached = clf.predict_reached(features)
    result = _answers(calibration.probabilities(probabilities), clf, list(files), [""] * len(files))
    result.unreached = ~reached
    _, distances = clf.neighbors_.query(clf.normalizer_.transform(features), NEAR)
    far = distances[:, -1] if distances.shape[1] == NEAR else np.full(len(distances), np.inf)
    result.out_of_distribution = far > outlier_limit(_near_distances(clf))
    result.note = "The accuracy was estimated when the model was made; it holds for images like those."
    return result


def _answers(p: NDArray[np.float64], clf: GrandeClassifier, files: list[str], given: list[str]) -> Labelling:
    """Labels from probabilities: the given one or the most probable, then the best of the others."""
    names = clf.classes_.astype(str).tolist()
    code = {name: c for c, name in enumerate(names)}
    rows = np.arange(len(p))
    first = np.array([code[label] if label else -1 for label in given], dtype=np.int64)
    first = np.where(first < 0, p.argmax(axis=1), first)
    others = p.copy()
    others[rows, first] = -1.0
    second = others.argmax(axis=1)
    several = len(names) > 1
    margin = p[rows, first] - p[rows, second] if several else p[rows, first]
    nothing = np.zeros(len(p), dtype=bool)
    return Labelling(
        files, [names[c] for c in first], p[rows, first], [names[c] if several else "" for c in second],
        margin, given, nothing, nothing.copy(),
    )  # fmt: skip


def _held_out(
    clf: GrandeClassifier, features: NDArray[np.float32], codes: NDArray[np.int64]
) -> HeldOut | None:
    """Held-out predictions with the classifier's own settings, when nothing was chosen by cross-validation."""
    folds = held_out_folds(codes)
    if not folds:
        return None
    return hold_out(clf.problem_, codes, folds)[0]


def _near_distances(clf: GrandeClassifier) -> NDArray[np.float64]:
    """How far each fitted image is from its fifth neighbour."""
    return clf.neighbors_.distances(NEAR + 1)


def _by_class(
    held_out: HeldOut, known: NDArray[np.float64], names: NDArray[np.str_]
) -> dict[str, AccuracyEstimate]:
    """For each class: of the held-out images that received it, the share that is right."""
    predicted = known.argmax(axis=1)
    out = {}
    for c, name in enumerate(names):
        hits = held_out.hits[predicted == c]
        if len(hits):
            low, high = wilson_interval(hits.sum(), len(hits))
            out[str(name)] = AccuracyEstimate(float(hits.mean()), low, high, len(hits))
    return out


def write_predictions(path: str | Path, result: Labelling) -> None:
    """Write ``predictions.csv`` atomically: one row an image, in the order of the files."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    columns = (
        result.files, result.labels, (f"{c:.4f}" for c in result.confidence), result.runner_up,
        (f"{m:.4f}" for m in result.margin), result.given, result.flags(),
    )  # fmt: skip
    writer.writerows(zip(*columns, strict=True))
    # A file name that is not valid UTF-8 is written as the bytes it has on disk.
    write_atomically(path, lambda file: file.write(text.getvalue().encode("utf-8", "surrogateescape")))
