"""From features and a few labels to a label, a confidence and flags for every image.

The rows of ``predictions.csv``: a given label is kept and its confidence is what the held-out prediction
thinks of it; every other image gets the most probable class with its calibrated probability.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier import GrandeClassifier
from grande_gnn.confidence import (
    AccuracyEstimate,
    Calibration,
    estimate_accuracy,
    fit_offset,
    fit_temperature,
    outlier_scores,
    reliability_bins,
    suspicious_labels,
    wilson_interval,
)
from grande_gnn.engine import Replica, train
from grande_gnn.files import write_atomically
from grande_gnn.inductive import last_listed_distance, softmax
from grande_gnn.selection import HeldOut, held_out_folds, hold_out
from grande_gnn.validation import encode_labels

__all__ = ["COLUMNS", "Labelling", "label_features", "label_new_features", "write_predictions"]

COLUMNS = ("file", "label", "confidence", "runner_up", "margin", "given_label", "flags")
"""The columns of ``predictions.csv``."""

OUTLIER_NEIGHBOUR = 6
"""An image is far from everything when even its fifth neighbour is far."""


@dataclass(eq=False)
class Labelling:
    """The answer for every image, in the order of ``files``."""

    files: list[str]
    labels: list[str]
    confidence: NDArray[np.float64]
    runner_up: list[str]
    margin: NDArray[np.float64]
    given: list[str]
    unreached: NDArray[np.bool_]
    out_of_distribution: NDArray[np.bool_]
    suspicions: list[tuple[int, str, float]] = field(
        default_factory=list
    )  # (row, suggested label, confidence)
    accuracy: AccuracyEstimate | None = None
    class_accuracy: dict[str, AccuracyEstimate] = field(default_factory=dict)
    bins: list[tuple[float, float, int, float, float]] = field(default_factory=list)
    calibration: Calibration = field(default_factory=Calibration)
    note: str = ""

    def flags(self) -> list[str]:
        """The flags of each image, separated by spaces."""
        marks: list[list[str]] = [[] for _ in self.files]
        for name, marked in (
            ("unreached", self.unreached),
            ("out_of_distribution", self.out_of_distribution),
        ):
            for i in np.flatnonzero(marked):
                marks[i].append(name)
        for row, _, _ in self.suspicions:
            marks[row].append("suspicious_label")
        return [" ".join(names) for names in marks]


def label_features(
    features: NDArray[np.float32], files: Sequence[str], given: Sequence[str], clf: GrandeClassifier
) -> Labelling:
    """Fit ``clf`` and say how sure it is. ``given`` has one label an image, ``""`` where there is none."""
    clf.fit(features, list(given))
    codes, _ = encode_labels(list(given))
    held_out = clf.selection_.held_out if clf.selection_ is not None else _held_out(clf, features, codes)
    if held_out is None:
        result = _answers(clf.label_distributions_, clf, list(files), list(given))
        result.note = "Some class has fewer than 2 labels, so accuracy and confidence could not be checked."
    else:
        unsure = clf.label_distributions_[codes < 0]
        calibration = Calibration(fit_temperature(held_out))
        accuracy = None
        if len(unsure):
            confidence = float(calibration.probabilities(unsure).max(axis=1).mean())
            accuracy = estimate_accuracy(
                confidence, _agreement_of_halves(clf, features, codes), len(held_out.rows)
            )
            calibration = fit_offset(calibration.temperature, unsure, accuracy.value)
        result = _answers(calibration.probabilities(clf.label_distributions_), clf, list(files), list(given))
        result.accuracy, result.calibration = accuracy, calibration
        _use_held_out(result, held_out, clf.classes_.astype(str))
    result.unreached = ~clf.reached_
    result.out_of_distribution = _far(clf)
    return result


def _use_held_out(result: Labelling, held_out: HeldOut, names: NDArray[np.str_]) -> None:
    """What the labelled images say when their own label is hidden."""
    calibration = Calibration(fit_temperature(held_out))
    known = calibration.probabilities(softmax(held_out.logits))
    result.confidence[held_out.rows] = known[np.arange(len(known)), held_out.labels]
    result.suspicions = [(row, str(names[c]), p) for row, c, p in suspicious_labels(held_out, calibration)]
    result.bins = reliability_bins(known.max(axis=1), held_out.hits)
    result.class_accuracy = _by_class(held_out, known, names)
    result.note = (
        f"Models trained on different parts of the {len(held_out.rows)} labels were compared on the unlabelled images: "
        "the more often they agree, the more often they are right."
    )


def _agreement_of_halves(
    clf: GrandeClassifier, features: NDArray[np.float32], codes: NDArray[np.int64]
) -> float:
    """How often two trainings from disjoint halves of the labels agree on the unlabelled images."""
    replicas = []
    for f, half in enumerate(held_out_folds(codes, 2)):
        known = codes.copy()
        known[half] = -1
        replicas.append(Replica(known, clf._degree_spec(), 0, f, clf.hidden))
    inputs = clf._normalizer.transform(features)
    one, other = train(inputs, clf.graph_, replicas, len(clf.classes_), clf._settings(clf._seed()))
    return float(np.mean((one.predictions == other.predictions)[codes < 0]))


def label_new_features(
    features: NDArray[np.float32], files: Sequence[str], clf: GrandeClassifier, calibration: Calibration
) -> Labelling:
    """Labels of new images from a fitted classifier; nothing is trained."""
    probabilities = calibration.probabilities(clf.predict_proba(features))
    return _answers(probabilities, clf, list(files), [""] * len(files))


def _answers(p: NDArray[np.float64], clf: GrandeClassifier, files: list[str], given: list[str]) -> Labelling:
    names = clf.classes_.astype(str)
    order = np.argsort(-p, axis=1, kind="stable")
    rows = np.arange(len(p))
    best = p[rows, order[:, 0]]
    several = p.shape[1] > 1
    second = p[rows, order[:, 1]] if several else np.zeros(len(p))
    found = names[order[:, 0]]
    others = [str(names[c]) for c in order[:, 1]] if several else [""] * len(p)
    labels = [label or str(f) for label, f in zip(given, found, strict=True)]
    nothing = np.zeros(len(p), dtype=bool)
    return Labelling(files, labels, best, others, best - second, given, nothing, nothing.copy())


def _held_out(
    clf: GrandeClassifier, features: NDArray[np.float32], codes: NDArray[np.int64]
) -> HeldOut | None:
    """Held-out predictions with the classifier's own settings, when nothing was chosen by cross-validation."""
    folds = held_out_folds(codes)
    if not folds:
        return None
    inputs = clf._normalizer.transform(features)
    settings, spec = clf._settings(clf._seed()), clf._degree_spec()
    return hold_out(inputs, clf.graph_, codes, folds, [spec], settings, clf.hidden)[0]


def _far(clf: GrandeClassifier) -> NDArray[np.bool_]:
    from grande_gnn.graph import ranked_lists

    inputs = clf._normalizer.transform(clf._X)
    lists = ranked_lists(inputs, OUTLIER_NEIGHBOUR)
    return outlier_scores(last_listed_distance(inputs, lists, OUTLIER_NEIGHBOUR))[1]


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
