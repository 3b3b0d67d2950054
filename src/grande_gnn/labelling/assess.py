"""From a classifier to labels with confidences: fit, hold out, calibrate, flag.

1. The classifier is fitted, and held-out predictions of the labelled images give the temperature of the calibration.
2. Two trainings from disjoint halves of the labels are compared on the unlabelled images; how often they agree tells how
   often labels are right (:mod:`grande_gnn.labelling.confidence`), and the calibration's offset follows from that.
3. Images that no label reaches, images far from everything, and given labels that are contradicted are flagged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.classifier.held_out import HeldOut, held_out_folds, hold_out
from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.graph import Neighbors
from grande_gnn.internal.validation import encode_labels
from grande_gnn.labelling.confidence import (
    AccuracyEstimate,
    Calibration,
    estimate_accuracy,
    fit_offset,
    fit_temperature,
    outlier_limit,
    reliability_bins,
    suspicious_labels,
    wilson_interval,
)
from grande_gnn.labelling.result import Labelling, Suspicion

__all__ = ["agreement_of_halves", "assess", "assess_new", "half_predictions"]

ENOUGH_LABELS = 4
"""Labels of the smallest class from which on halves of the labels speak for all of them (docs/confidence.md)."""

NEAR = 5
"""An image is far from everything when even its fifth neighbour is far."""

Codes = NDArray[np.int64]


def assess(clf: GrandeClassifier, labels: Sequence[str], files: Sequence[str]) -> Labelling:
    """The labelling of the images that ``clf`` was fitted on; ``labels`` are those it was fitted with."""
    codes, _ = encode_labels(labels)
    names = clf.classes_.astype(str)
    given = [str(names[code]) if code >= 0 else "" for code in codes]
    held_out = clf.selection_.held_out if clf.selection_ is not None else _held_out(clf.problem_, codes)
    distances = clf.neighbors_.distances(NEAR + 1)
    known_anyway: dict[str, Any] = {
        "unreached": ~clf.reached_,
        "out_of_distribution": distances > outlier_limit(distances),
        "classifier": clf,
        "neighbors": clf.neighbors_,
    }
    if held_out is None:
        unchecked = _answers(clf.label_distributions_, names, files, given)
        return replace(unchecked, **known_anyway, note=_why_unchecked(codes))
    by_temperature = Calibration(fit_temperature(held_out))
    accuracy, calibration = _expected_accuracy(clf, codes, held_out, by_temperature)
    known = by_temperature.probabilities(softmax(held_out.logits, axis=1))
    probabilities = calibration.probabilities(clf.label_distributions_)
    probabilities[held_out.rows] = known
    return replace(
        _answers(probabilities, names, files, given),
        **known_anyway,
        suspicions=[
            Suspicion(row, str(names[code]), sure)
            for row, code, sure in suspicious_labels(held_out, by_temperature)
        ],
        accuracy=accuracy,
        class_accuracy=_by_class(held_out, known, names),
        bins=reliability_bins(known.max(axis=1), held_out.hits),
        calibration=calibration,
        note=(
            f"Models trained on different parts of the {len(held_out.rows)} labels were compared on the unlabelled "
            "images: the more often they agree, the more often they are right."
        ),
    )


def assess_new(
    features: NDArray[np.float32], files: Sequence[str], clf: GrandeClassifier, calibration: Calibration
) -> Labelling:
    """The labelling of new images by a fitted classifier; nothing is trained."""
    probabilities, reached = clf.predict_reached(features)
    names = clf.classes_.astype(str)
    result = _answers(calibration.probabilities(probabilities), names, files, [""] * len(files))
    fitted, new = clf.neighbors_, clf.normalizer_.transform(features)
    _, distances = fitted.query(new, NEAR)
    far = distances[:, NEAR - 1] if distances.shape[1] == NEAR else np.full(len(new), np.inf)
    return replace(
        result,
        unreached=~reached,
        out_of_distribution=far > outlier_limit(fitted.distances(NEAR + 1)),
        calibration=calibration,
        note="The accuracy was estimated when the model was made; it holds for images like those.",
        classifier=clf,
        neighbors=Neighbors(new, device=clf.device),
    )


def _expected_accuracy(
    clf: GrandeClassifier, codes: Codes, held_out: HeldOut, by_temperature: Calibration
) -> tuple[AccuracyEstimate | None, Calibration]:
    """The accuracy expected on the unlabelled images, and the calibration whose mean confidence equals it."""
    unsure = clf.label_distributions_[codes < 0]
    if not len(unsure):
        return None, by_temperature
    confidence = float(by_temperature.probabilities(unsure).max(axis=1).mean())
    agreement = agreement_of_halves(clf, codes)
    accuracy = estimate_accuracy(confidence, agreement, len(held_out.rows))
    calibration = fit_offset(by_temperature.temperature, unsure, accuracy.value)
    return accuracy, calibration


def agreement_of_halves(clf: GrandeClassifier, codes: Codes) -> float:
    """How often two trainings from disjoint halves of the labels agree on the unlabelled images, in [0, 1].

    Where a class has so few labels that a half of them says little about all, the halves are compared with the training
    from all labels instead of with each other.
    """
    one, other = half_predictions(clf.problem_, codes)
    unknown = codes < 0
    if np.bincount(codes[~unknown]).min() >= ENOUGH_LABELS:
        return float(np.mean((one == other)[unknown]))
    full = clf.label_distributions_.argmax(axis=1)
    return float(np.mean([(half == full)[unknown] for half in (one, other)]))


def half_predictions(problem: LearningProblem, codes: Codes) -> tuple[Codes, Codes]:
    """The predicted classes of two trainings from disjoint halves of the labels."""
    halves = []
    for half in held_out_folds(codes, 2):
        known = codes.copy()
        known[half] = -1
        halves.append(known)
    one, other = problem.train(halves)
    return one.predictions, other.predictions


def _held_out(problem: LearningProblem, codes: Codes) -> HeldOut | None:
    """Held-out predictions with the classifier's own settings, when nothing was chosen by cross-validation."""
    folds = held_out_folds(codes)
    return hold_out(problem, codes, folds)[0] if folds else None


def _why_unchecked(codes: Codes) -> str:
    """Why there are no held-out predictions, and what to do."""
    if codes.max() == 0:
        return "Only one class is labelled, so every image gets it: label some images of another class too."
    return (
        "Some class has fewer than 2 labels, so accuracy and confidence could not be checked: label one more image of "
        "each such class."
    )


def _answers(
    p: NDArray[np.float64], names: NDArray[np.str_], files: Sequence[str], given: list[str]
) -> Labelling:
    """Labels from probabilities: the given one or the most probable, then the best of the others."""
    code = {str(name): c for c, name in enumerate(names)}
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
        list(files), names[first].tolist(), p[rows, first],
        names[second].tolist() if several else [""] * len(p), margin, given, nothing, nothing,
    )  # fmt: skip


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
