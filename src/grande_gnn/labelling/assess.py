"""From a classifier to labels with confidences: fit, hold out, estimate, calibrate, flag.

1. Two trainings on disjoint halves of the labels predict the labels that they did not know
   (:mod:`grande_gnn.labelling.half_views`). A given label is suspicious if its held-out prediction is clearly another class.
2. These predictions, and the same trainings' confidence in the unlabelled images, give the expected accuracy
   (:mod:`grande_gnn.labelling.expected_accuracy`), and this gives the calibration.
3. Images that no label reaches, images far from everything, images unlike every labelled class and copies are flagged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.classifier.halves import Halves
from grande_gnn.graph import Neighbors
from grande_gnn.internal.row_blocks import by_row_blocks, largest
from grande_gnn.internal.validation import encode_labels
from grande_gnn.labelling.calibration import Calibration, fit_calibration, with_winner
from grande_gnn.labelling.class_accuracy import class_accuracies
from grande_gnn.labelling.confidence import AccuracyEstimate, outlier_limit, reliability_bins
from grande_gnn.labelling.correctness import Correctness, fit_correctness
from grande_gnn.labelling.doubts import reasons, sample_test
from grande_gnn.labelling.expected_accuracy import Sources, draw_accuracy, flagged_share, unseen_share
from grande_gnn.labelling.half_views import HalfViews, label_weights, view_halves
from grande_gnn.labelling.label_sets import LabelSets, conformal_sets, likeliest_sets
from grande_gnn.labelling.open_set import familiarity, is_unfamiliar, unfamiliar_scores
from grande_gnn.labelling.result import Labelling, Suspicion
from grande_gnn.labelling.suspicion import own_shares, suspicious_labels

__all__ = ["assess", "assess_new"]

NEAR = 5
"""An image is out of distribution if even its fifth neighbor is far away: a few copies of it do not count."""

CROWD = 11
"""Entries of the ranked lists that count as an image's neighborhood, the image itself included."""

AROUND = 40
"""Entries of the ranked lists in which labelled images are looked for, if the lists are that long: the paper's length."""

NOT_RANDOM = (
    "The labelled images are not a random sample of all images, so the sets may hold the right label less often than they "
    "promise: label some images picked at random."
)
"""The warning if a test rejects that the labels are a random sample, which conformal prediction requires."""

Float = NDArray[np.float64]
Codes = NDArray[np.int64]


def assess(
    clf: GrandeClassifier, labels: Sequence[str], files: Sequence[str], *, coverage: float | None = None
) -> Labelling:
    """The labelling of the images that ``clf`` was fitted on.

    Parameters
    ----------
    labels : those that ``clf`` was fitted with.
    files : the name of each image.
    coverage : the probability with which a set of labels should hold the right one; None for no sets.
    """
    codes, _ = encode_labels(labels)
    names = clf.classes_.astype(str)
    given = [str(names[code]) if code >= 0 else "" for code in codes]
    distances = clf.neighbors_.distances(NEAR + 1)
    known_anyway: dict[str, Any] = {
        "unreached": ~clf.reached_,
        "out_of_distribution": distances > outlier_limit(distances),
        "copy_of": [files[first] if first != row else "" for row, first in enumerate(clf.copies_)],
        "classifier": clf,
        "neighbors": clf.neighbors_,
    }
    halves = clf.halves_ if clf.halves_ is not None else clf.train_halves(codes)
    if halves is None:
        unchecked = _answers(clf.label_distributions_, names, files, given)
        sets = (
            {}
            if coverage is None
            else _sets_without_guarantee(coverage, clf.label_distributions_, names, unchecked)
        )
        return replace(unchecked, **known_anyway, **sets, note=_why_unchecked(codes))
    known = _held_out_labels(clf, halves)
    outlook = _outlook(clf, codes, known, halves)
    views = known.views
    by_class = _by_class(known, outlook, codes < 0, names)
    # From here on, labelled images have their held-out probabilities. In place, as a copy would be n × classes numbers.
    outlook.probabilities[views.rows[views.answerable]] = known.probabilities[views.answerable]
    result = _answers(outlook.probabilities, names, files, given)
    if coverage is not None:
        known_anyway |= _label_sets(coverage, halves, known, outlook, names, result)
    return replace(
        result,
        **known_anyway,
        suspicions=_suspicions(known, names),
        accuracy=outlook.accuracy,
        class_accuracy=by_class,
        bins=reliability_bins(
            known.probabilities.max(axis=1)[views.answerable], views.right[views.answerable]
        ),
        calibration=outlook.calibration,
        doubts=outlook.doubts,
        unfamiliar=outlook.unfamiliar,
        is_unfamiliar=outlook.is_unfamiliar,
        note=_how_checked(len(views.rows), int(views.answerable.sum()), int((codes < 0).sum())),
    )


def assess_new(
    features: NDArray[np.float32],
    files: Sequence[str],
    clf: GrandeClassifier,
    calibration: Calibration,
    *,
    coverage: float | None = None,
) -> Labelling:
    """The labelling of new images by a fitted classifier; nothing is trained, so sets of labels guarantee nothing."""
    probabilities, reached = clf.predict_reached(features)
    names = clf.classes_.astype(str)
    calibrated = calibration.probabilities(probabilities)
    result = _answers(calibrated, names, files, [""] * len(files))
    if coverage is not None:
        result = replace(result, **_sets_without_guarantee(coverage, calibrated, names, result))
    fitted, new = clf.neighbors_, clf.normalizer_.transform(features)
    _, distances = fitted.query(new, NEAR)
    far = distances[:, NEAR - 1] if distances.shape[1] == NEAR else np.full(len(new), np.inf)
    return replace(
        result,
        unreached=~reached,
        out_of_distribution=far > outlier_limit(fitted.distances(NEAR + 1)),
        calibration=calibration,
        note="The accuracy was estimated when the model was trained; it holds for images like those it was trained on.",
        classifier=clf,
        neighbors=Neighbors(new, device=clf.device),
    )


@dataclass(frozen=True, eq=False)
class _HeldOutLabels:
    """What held-out predictions of the labels show."""

    views: HalfViews
    weights: Float
    """How much each label counts."""
    curve: Correctness
    """How often a prediction of the halves with a given confidence is right, and how often a label is wrong."""
    probabilities: Float
    """The held-out probabilities, calibrated by the curve."""
    suspicious: list[tuple[int, int]]
    """Labels that look wrong: position and suggested class."""

    @property
    def wrong_share(self) -> float:
        """Share of wrong labels, which harm a training on half of the labels more than one on all; 0 if nothing is known."""
        return self.curve.wrong_share if self.weights.any() else 0.0

    @property
    def accuracy(self) -> float | None:
        """Share of right predictions among the held-out labels, or what it would be if no label were wrong."""
        total = float(self.weights.sum())
        agreed = float(self.weights @ self.views.right)
        return min(1.0, agreed / total / (1 - self.curve.wrong_share)) if total > 0 else None


def _held_out_labels(clf: GrandeClassifier, halves: Halves) -> _HeldOutLabels:
    full = clf.label_distributions_
    views = view_halves(halves, full)
    weights = label_weights(views, halves, clf.neighbors_.features, clf.copies_)
    curve = fit_correctness(
        views.confidence, views.right, weights,
        own=own_shares(views.probabilities, views.labels), n_classes=full.shape[1],
    )  # fmt: skip
    asked = np.flatnonzero(views.answerable)
    suspicious = suspicious_labels(curve, views.probabilities[asked], views.labels[asked])
    return _HeldOutLabels(
        views, weights, curve, with_winner(views.probabilities, curve.probability(views.confidence)),
        [(int(asked[i]), c) for i, c in suspicious],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Outlook:
    """What is expected of the unlabelled images."""

    accuracy: AccuracyEstimate | None
    calibration: Calibration
    probabilities: Float
    """Calibrated probabilities of all images. Those of unfamiliar images sum to less than 1: the rest belongs to no
    class."""
    unfamiliar: Float
    is_unfamiliar: NDArray[np.bool_]
    doubts: list[str]
    is_random_sample: bool
    """Whether the labelled images may be a random sample: no test rejects it."""


def _outlook(clf: GrandeClassifier, codes: Codes, known: _HeldOutLabels, halves: Halves) -> _Outlook:
    """The accuracy expected on the unlabelled images, and the calibration whose mean confidence equals it."""
    full, views, unlabelled = clf.label_distributions_, known.views, codes < 0
    lists = clf.neighbors_.lists(CROWD)
    scores = unfamiliar_scores(
        full, halves, clf.neighbors_.lists(max(CROWD, min(clf.neighbors_.length, AROUND)))
    )
    strange = is_unfamiliar(scores, ~unlabelled)
    factor = familiarity(strange)
    if not unlabelled.any():
        calibration = fit_calibration(known.curve, full, 1.0)
        return _Outlook(None, calibration, calibration.probabilities(full), scores, strange, [], True)
    predicted, sure = largest(full)
    test = sample_test(
        lists, ~unlabelled, np.where(unlabelled, predicted, codes), views.confidence[views.answerable],
        views.unlabelled.confidence,
    )  # fmt: skip
    expected = known.curve.probability(sure[unlabelled])
    unseen = unseen_share(views.labels) + flagged_share(expected, strange[unlabelled]) / 2
    draws = draw_accuracy(
        Sources(
            known.curve, views.unlabelled.confidence, known.accuracy,
            views.unlabelled.disagreement + known.wrong_share, unseen, int(unlabelled.sum()),
            views.unlabelled.instead, not test.rejects_random_sample,
        )
    )  # fmt: skip
    estimate = draws.estimate(len(views.rows))
    doubts = reasons(
        draws.spread, estimate.high - estimate.low, n_labels=len(views.rows), effective=float(known.weights.sum()),
        n_single=int(np.sum(np.bincount(views.labels) == 1)), test=test,
    )  # fmt: skip
    calibration = fit_calibration(known.curve, full, estimate.value, factor, unlabelled)
    return _Outlook(
        estimate, calibration, by_row_blocks(lambda p, f: calibration.probabilities(p) * f[:, None], full, factor),
        scores, strange, doubts,
        not test.rejects_random_sample,
    )  # fmt: skip


def _suspicions(known: _HeldOutLabels, names: NDArray[np.str_]) -> list[Suspicion]:
    """Given labels that look wrong, the most certain cases first."""
    found = [
        Suspicion(int(known.views.rows[i]), str(names[c]), float(known.probabilities[i, c]))
        for i, c in known.suspicious
    ]
    return sorted(found, key=lambda suspicion: -suspicion.confidence)


def _by_class(
    known: _HeldOutLabels, outlook: _Outlook, unlabelled: NDArray[np.bool_], names: NDArray[np.str_]
) -> dict[str, AccuracyEstimate]:
    """For each class: of the images that receive it, the share that is right."""
    views, asked = known.views, known.views.answerable
    predicted, sure = largest(outlook.probabilities)
    found = class_accuracies(
        views.probabilities.argmax(axis=1)[asked], views.right[asked], known.weights[asked],
        predicted[unlabelled], sure[unlabelled],
    )  # fmt: skip
    return {str(names[c]): estimate for c, estimate in found.items()}


def _label_sets(
    coverage: float,
    halves: Halves,
    known: _HeldOutLabels,
    outlook: _Outlook,
    names: NDArray[np.str_],
    result: Labelling,
) -> dict[str, Any]:
    """The sets of labels and how they were made."""
    views = known.views
    if not views.answerable.any():
        return _sets_without_guarantee(coverage, outlook.probabilities, names, result)
    held_out = []
    for half, p in zip(halves.known, halves.probabilities, strict=True):
        # Labels whose class the half does not know count, with the worst score: there are such images without a label too.
        asked = views.rows[~half[views.rows]]
        held_out.append(1 - p[asked, halves.codes[asked]])
    sets, method, n = conformal_sets(coverage, held_out, [1 - p for p in halves.probabilities])
    return {
        "label_sets": _named_sets(sets, names, result),
        "sets_made": LabelSets(coverage, method, n, "" if outlook.is_random_sample else NOT_RANDOM),
    }


def _sets_without_guarantee(
    coverage: float, probabilities: Float, names: NDArray[np.str_], result: Labelling
) -> dict[str, Any]:
    sets = likeliest_sets(coverage, probabilities)
    return {"label_sets": _named_sets(sets, names, result), "sets_made": LabelSets(coverage, "calibrated", 0)}


def _named_sets(sets: NDArray[np.bool_], names: NDArray[np.str_], result: Labelling) -> list[list[str]]:
    """The labels of each set, with the image's own label first if it is in the set; a given label is a set by itself."""
    found = []
    for chosen, label, given in zip(sets, result.labels, result.given, strict=True):
        labels = [label] if given else [str(name) for name in names[chosen]]
        found.append([name for name in labels if name == label] + [name for name in labels if name != label])
    return found


def _how_checked(n_labels: int, n_answerable: int, n_unlabelled: int) -> str:
    """How the accuracy was estimated."""
    if not n_answerable:
        return (
            f"Each of the {n_labels} labels is the only one of its class, so none could be held out: the estimate rests "
            "on the confidence of the model."
        )
    how = f"Two models, each trained on half of the {n_labels} labels, predicted the labels they did not know"
    if not n_unlabelled:
        return f"{how}. All images have labels, so these were only checked."
    return f"{how}; how sure they are of the unlabelled images tells how often those are right."


def _why_unchecked(codes: Codes) -> str:
    """Why there are no held-out predictions, and what to do."""
    if codes.max() == 0:
        return "Only one class is labelled, so every image gets it: label some images of another class too."
    return "The labelled images are copies of one another, so none could be held out: label other images too."


def _best_other(p: Float, first: Codes) -> Codes:
    """The most probable class of each row other than the one in ``first``."""
    others = p.copy()
    others[np.arange(len(p)), first] = -1.0
    return others.argmax(axis=1)


def _answers(
    p: NDArray[np.float64], names: NDArray[np.str_], files: Sequence[str], given: list[str]
) -> Labelling:
    """Labels from probabilities: the given one or the most probable, then the best of the others."""
    code = {str(name): c for c, name in enumerate(names)}
    rows = np.arange(len(p))
    first = np.array([code[label] if label else -1 for label in given], dtype=np.int64)
    first = np.where(first < 0, largest(p)[0], first)
    second = by_row_blocks(_best_other, p, first)
    several = len(names) > 1
    margin = p[rows, first] - p[rows, second] if several else p[rows, first]
    nothing = np.zeros(len(p), dtype=bool)
    return Labelling(
        list(files), names[first].tolist(), p[rows, first],
        names[second].tolist() if several else [""] * len(p), margin, given, nothing, nothing,
    )  # fmt: skip
