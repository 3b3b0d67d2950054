"""The answer: a label, a confidence and flags for every image, and its table ``predictions.csv``.

A given label is kept, and its confidence is what a model that did not know it thinks of it. Every other image
gets the most probable class with its calibrated probability. The runner-up is the most probable other class, and the
margin is the difference to it, which is below 0 where a given label is contradicted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, InvalidTypeError
from grande_gnn.images.problems import Problem
from grande_gnn.internal.csv_file import read_csv, write_csv
from grande_gnn.labelling.confidence import AccuracyEstimate, Calibration, ReliabilityBin
from grande_gnn.labelling.label_sets import LabelSets, join_labels, split_labels

if TYPE_CHECKING:  # a labelling can be read and shown without torch
    from grande_gnn.classifier.estimator import GrandeClassifier
    from grande_gnn.graph import Neighbors

__all__ = ["COLUMNS", "Labelling", "Suspicion", "Thumbnails", "read_predictions", "write_predictions"]

COLUMNS = ("file", "label", "confidence", "runner_up", "margin", "given_label", "flags")
"""The columns that every ``predictions.csv`` has; ``copy_of`` and others follow if they are known."""

PROVENANCE_COLUMNS = ("provenance", "when")
"""Further columns of a reviewed labelling: where each label comes from, and when it was decided."""

Thumbnails = Callable[[Sequence[int]], Iterable[Any]]
"""Given row numbers, yields a picture (a PIL image) of each in that order, or None where there is none."""

_UNREACHED, _OUTLIER, _SUSPICIOUS = "unreached", "out_of_distribution", "suspicious_label"
_COPY, _UNFAMILIAR = "copy", "unfamiliar"


@dataclass(frozen=True)
class Suspicion:
    """A given label that looks wrong: a model that was trained without it predicts another class.

    ``row`` is the image, ``label`` the class that the model predicts, and ``confidence`` how sure it is (1 = certain).
    """

    row: int
    label: str
    confidence: float


@dataclass(frozen=True, eq=False)
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
    """``confidence`` minus the probability of the runner-up; below 0 if a given label is less probable than the
    runner-up."""
    given: list[str]
    """The label the user gave; ``""`` if none."""
    unreached: NDArray[np.bool_]
    """True for images that no label reaches through the graph."""
    out_of_distribution: NDArray[np.bool_]
    """True for images far from every other image."""
    suspicions: list[Suspicion] = field(default_factory=list)
    """Given labels that look wrong, the most certain cases first."""
    accuracy: AccuracyEstimate | None = None
    """Expected share of right labels among the images without a given label; None if it could not be estimated."""
    class_accuracy: dict[str, AccuracyEstimate] = field(default_factory=dict)
    """For each class: of the images that receive it, the expected share that is right."""
    bins: list[ReliabilityBin] = field(default_factory=list)
    """The reliability diagram, measured on held-out labels; empty if there were none."""
    calibration: Calibration = field(default_factory=Calibration)
    """How the classifier's probabilities become confidences."""
    note: str = ""
    """How the accuracy was estimated, or why it could not be; one or two sentences."""
    doubts: list[str] = field(default_factory=list)
    """Why the interval of the accuracy is wide and what to do about it, the main reason first; one sentence each."""
    unfamiliar: NDArray[np.float64] | None = None
    """How unlike all labelled classes each image is: a score in [0, 1] (:mod:`grande_gnn.labelling.open_set`), where 1 is
    the most unlike; None if unknown."""
    is_unfamiliar: NDArray[np.bool_] | None = None
    """True for images that are flagged because of this score; None if unknown."""
    label_sets: list[list[str]] | None = None
    """The labels that may be right for each image, its own first if it is one of them; None if no coverage was requested."""
    sets_made: LabelSets | None = None
    """How the sets were made and what they promise."""
    copy_of: list[str] | None = None
    """The first image with the same picture, if this one is a copy of it, else ``""``; None if unknown."""
    root: Path | None = None
    """The folder of the images; None if features were labelled and the images are unknown."""
    problems: list[Problem] = field(default_factory=list)
    """Files that could not be used, and labels that match no file, with the reason."""
    settings: dict[str, object] = field(default_factory=dict)
    """What was used: version, extractor, model, graph, σ, seed, calibration."""
    classifier: GrandeClassifier | None = None
    """The fitted classifier."""
    neighbors: Neighbors | None = None
    """The neighbors of these images in their normalized features; None if the features are unknown."""
    texts: list[str] | None = None
    """The text of each sample, if texts were labelled."""
    thumbnails: Thumbnails | None = None
    """Pictures of images by row number, or None if there are none."""
    adapted_weights: Path | None = None
    """The file with the weights of a network that was adapted to these images; None if none was."""
    provenance: list[str] = field(default_factory=list)
    """Where each label comes from: given, corrected, audited or predicted; empty if nobody reviewed the labels."""
    decided: list[str] = field(default_factory=list)
    """When each label was decided in a review (UTC), ``""`` if it was not; empty like ``provenance``."""

    def flags(self) -> list[str]:
        """The flags of each image, separated by spaces.

        They are unreached, out_of_distribution, suspicious_label, copy and unfamiliar.
        """
        marks: list[list[str]] = [[] for _ in self.files]
        suspicious = [suspicion.row for suspicion in self.suspicions]
        for name, rows in (
            (_UNREACHED, np.flatnonzero(self.unreached)),
            (_OUTLIER, np.flatnonzero(self.out_of_distribution)),
            (_SUSPICIOUS, suspicious),
            (_COPY, [row for row, first in enumerate(self.copy_of or []) if first]),
            (_UNFAMILIAR, [] if self.is_unfamiliar is None else np.flatnonzero(self.is_unfamiliar)),
        ):
            for row in rows:
                marks[row].append(name)
        return [" ".join(names) for names in marks]

    @property
    def things(self) -> str:
        """What the samples are called: texts, images, or samples if only features are known."""
        if self.texts is not None:
            return "texts"
        has_images = self.root is not None or self.thumbnails is not None or self.settings.get("extractor")
        return "images" if has_images else "samples"

    def said(self, sentence: str) -> str:
        """A sentence about images, reworded for the kind of samples there are.

        >>> Labelling(["a"], ["x"], *[np.ones(1)] * 4, [""], *[np.zeros(1)] * 2).said("Label an image.")
        'Label a sample.'
        """
        if self.things == "images":
            return sentence
        one = self.things.removesuffix("s")
        for old, new in (("an image", f"a {one}"), ("images", self.things), ("image", one)):
            for change in (str, str.capitalize):
                sentence = re.sub(rf"\b{change(old)}\b", change(new), sentence)
        return sentence

    def summary(self) -> str:
        """The outcome in a few sentences, one per line."""
        new, clf = sum(not label for label in self.given), self.classifier
        n_classes = len(set(self.labels) if clf is None else clf.classes_)
        given = self.settings.get("graph_file")
        how = "" if clf is None else f" with {f'the graph in {given}' if given else clf.committee_}"
        classes = "1 class" if n_classes == 1 else f"{n_classes} classes"
        lines = [f"{new} {self.things} labelled in {classes}{how}."]
        if self.accuracy is not None:
            e = self.accuracy
            lines.append(
                f"Expected accuracy {100 * e.value:.1f} % (95 % interval {100 * e.low:.1f} to {100 * e.high:.1f} %, "
                f"from {e.n} labels)."
            )
            lines += [self.said(doubt) for doubt in self.doubts[:1]]
        elif self.note:
            lines.append(self.said(self.note))
        n_flagged = sum(bool(flags) for flags in self.flags())
        if n_flagged:
            flagged = f"{n_flagged} images are" if n_flagged > 1 else "1 image is"
            lines.append(self.said(f"{flagged} flagged; see the report."))
        return "\n".join(lines)

    def save(
        self, folder: str | Path, *, overwrite: bool = False, export: str | Sequence[str] | None = None
    ) -> None:
        """Write ``folder`` as ``grande label`` does: predictions, report, problems, settings and the model.

        The folder is written whole or not at all. An earlier result is replaced only if ``overwrite``; other
        files in it stay. ``export`` names further formats of :data:`~grande_gnn.labelling.exports.EXPORTS`: one or several.
        """
        from grande_gnn.labelling.folder import save_labelling

        save_labelling(self, Path(folder), overwrite=overwrite, export=export)

    @classmethod
    def load(cls, folder: str | Path) -> Labelling:
        """Read a folder that :meth:`save` or ``grande label`` wrote.

        Confidences have the four decimals of ``predictions.csv``. Folders of version 0.1 hold neither the accuracy
        estimate nor the place of the images, so these are None there.
        """
        from grande_gnn.internal.swap import settled
        from grande_gnn.labelling.folder import load_labelling

        with settled(Path(folder)):
            return load_labelling(Path(folder))

    def corrected(self, corrections: Mapping[str, str | None]) -> Labelling:
        """Label again with some given labels changed: ``{file: label}``, ``""`` or None to withdraw a label.

        Nothing is searched or chosen again: features, neighbors, graph and settings stay as they are. A label that is
        new becomes a new class, without the spaces around its name.
        """
        from grande_gnn.labelling.relabel import relabel

        if wrong := [
            label for label in corrections.values() if label is not None and not isinstance(label, str)
        ]:
            raise InvalidTypeError(
                f"a corrected label must be a text, or None to withdraw it; got {wrong[0]!r}"
            )
        # A class that was given as " cat" keeps its name: without the space, the label would be another class.
        known = set(self.given)
        named = {file: label or "" for file, label in corrections.items()}
        exact = {file: label if label in known else label.strip() for file, label in named.items()}
        return relabel(self, exact)


def write_predictions(path: str | Path, labelling: Labelling) -> None:
    """Write ``predictions.csv`` atomically: one row per image, in the order of the files."""
    columns: dict[str, Iterable[object]] = dict(zip(COLUMNS, (
        labelling.files, labelling.labels, (f"{c:.4f}" for c in labelling.confidence), labelling.runner_up,
        (f"{m:.4f}" for m in labelling.margin), labelling.given, labelling.flags(),
    ), strict=True))  # fmt: skip
    if labelling.unfamiliar is not None:
        columns["unfamiliar"] = (f"{score:.4f}" for score in labelling.unfamiliar)
    if labelling.copy_of is not None:
        columns["copy_of"] = labelling.copy_of
    if labelling.label_sets is not None:
        columns["label_set"] = (join_labels(labels) for labels in labelling.label_sets)
    if labelling.provenance:
        columns |= zip(PROVENANCE_COLUMNS, (labelling.provenance, labelling.decided), strict=True)
    write_csv(path, list(columns), zip(*columns.values(), strict=True))


def read_predictions(path: str | Path) -> Labelling:
    """The labelling in a ``predictions.csv``: what the table holds, to its four decimals."""
    rows = read_csv(path, COLUMNS)
    try:
        confidence, margin = (
            np.array([float(row[name]) for row in rows]) for name in ("confidence", "margin")
        )
    except ValueError as error:
        raise FileFormatError(f"{path} must hold numbers as confidence and margin; got {error}") from None
    if not ((confidence >= 0) & (confidence <= 1) & (np.abs(margin) <= 1)).all():
        raise FileFormatError(
            f"{path} must hold confidences in [0, 1] and margins in [-1, 1]; got {confidence.min()} to {confidence.max()} "
            f"and {margin.min()} to {margin.max()}"
        )
    marks = [row["flags"].split() for row in rows]
    unreached, outliers, suspicious = (
        np.array([name in names for names in marks], dtype=bool)
        for name in (_UNREACHED, _OUTLIER, _SUSPICIOUS)
    )
    # The runner-up of a suspicious label is the class that contradicts it.
    doubts = [
        Suspicion(int(row), rows[row]["runner_up"], float(confidence[row] - margin[row]))
        for row in np.flatnonzero(suspicious)
    ]
    return Labelling(
        [row["file"] for row in rows], [row["label"] for row in rows], confidence,
        [row["runner_up"] for row in rows], margin, [row["given_label"] for row in rows], unreached, outliers,
        sorted(doubts, key=lambda doubt: -doubt.confidence), copy_of=_column(rows, "copy_of"),
        **_read_unfamiliar(path, rows, marks), **_read_label_sets(rows), **_read_provenance(rows),
    )  # fmt: skip


def _read_unfamiliar(
    path: str | Path, rows: list[dict[str, str]], marks: Sequence[Sequence[str]]
) -> dict[str, Any]:
    column = _column(rows, "unfamiliar")
    if column is None:
        return {}
    try:
        scores = np.array([float(cell) for cell in column])
    except ValueError as error:
        raise FileFormatError(f"{path} must hold numbers as unfamiliar; got {error}") from None
    if not ((scores >= 0) & (scores <= 1)).all():
        raise FileFormatError(
            f"{path} must hold scores in [0, 1] as unfamiliar; got {scores.min()} to {scores.max()}"
        )
    return {
        "unfamiliar": scores,
        "is_unfamiliar": np.array([_UNFAMILIAR in names for names in marks], dtype=bool),
    }


def _read_label_sets(rows: list[dict[str, str]]) -> dict[str, Any]:
    column = _column(rows, "label_set")
    return {} if column is None else {"label_sets": [split_labels(cell) for cell in column]}


def _read_provenance(rows: list[dict[str, str]]) -> dict[str, Any]:
    """The columns of a reviewed labelling, if the table has them."""
    if not rows or not all(name in rows[0] for name in PROVENANCE_COLUMNS):
        return {}
    provenance, when = ([row[name] for row in rows] for name in PROVENANCE_COLUMNS)
    return {"provenance": provenance, "decided": when}


def _column(rows: Sequence[Mapping[str, str]], name: str) -> list[str] | None:
    """A column that tables of earlier versions do not have."""
    return [row[name] for row in rows] if rows and name in rows[0] else None
