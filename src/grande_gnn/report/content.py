"""What a report shows, as plain arrays: one dataclass that knows nothing of HTML.

Row ``i`` of every array is the same image. Scores live in [0, 1]; 1 is sure. An empty
string is "no label". Texts are untrusted: file names may hold anything a disk allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_features

__all__ = ["CalibrationBin", "Estimate", "Problem", "ReportContent", "Suspicion"]


@dataclass(frozen=True)
class Estimate:
    """A share in [0, 1] with its 95 % interval; leave ``low`` and ``high`` out where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CalibrationBin:
    """Held-out images whose confidence lies in ``[low, high)``: how sure, and how often right."""

    low: float
    high: float
    count: int
    confidence: float
    """Mean confidence of the bin (any number when ``count`` is 0)."""
    accuracy: float
    """Share of the bin that is right (any number when ``count`` is 0)."""


@dataclass(frozen=True)
class Suspicion:
    """A given label that the held-out prediction of image ``index`` contradicts."""

    index: int
    suggested: str
    confidence: float


@dataclass(frozen=True)
class Problem:
    """A file that could not be used, or a label that fits no file, and why."""

    file: str
    reason: str


@dataclass(eq=False)
class ReportContent:
    """Everything on the page except the thumbnails.

    Only the first five fields are needed; what is left out is left out of the page, or said
    to be missing. Lists do as well as arrays. Give ``features`` to have the map computed, or
    ``coordinates`` with the name of their method in ``map_method``.

    >>> content = ReportContent(
    ...     files=["a.jpg", "b.jpg"], labels=["cat", "dog"], confidence=[0.98, 0.61],
    ...     runner_up=["dog", "cat"], margin=[0.96, 0.22], given_labels=["cat", ""],
    ... )
    >>> content.n_images, content.classes, content.given.tolist()
    (2, ['cat', 'dog'], [True, False])
    """

    files: Sequence[str]
    """Path of each image, as the user knows it; the key of ``predictions.csv``."""
    labels: Sequence[str]
    """The label of each image in the result; ``""`` where none could be given."""
    confidence: NDArray[np.float64]
    """Calibrated probability that the label is right."""
    runner_up: Sequence[str]
    """The second most likely label, ``""`` where there is none."""
    margin: NDArray[np.float64]
    """``confidence`` minus the probability of the runner-up: below 0 where a given label is contradicted."""
    given_labels: Sequence[str] = ()
    """The label the user gave, ``""`` for the others; empty = none was given at all."""
    neighbors: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 0), np.int64))
    """Most similar images of each image, nearest first (n × k); the image itself and -1 are skipped."""
    features: NDArray[np.float32] | None = None
    """Features (n × d) from which the map is computed."""
    coordinates: NDArray[np.float32] | None = None
    """Ready positions (n × 2), instead of ``features``."""
    map_method: str = ""
    """How ``coordinates`` came about, one sentence."""
    unreached: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """True for images that no label reaches through the graph; empty = none."""
    out_of_distribution: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """True for images far from everything else; empty = none."""
    suspicions: Sequence[Suspicion] = ()
    """Given labels that look wrong, the most doubtful first."""
    accuracy: Estimate | None = None
    """Expected share of right labels among the images that had none."""
    accuracy_note: str = ""
    """How the accuracy was estimated, or why it could not be; one sentence."""
    class_accuracy: Mapping[str, Estimate] = field(default_factory=dict)
    """For each class: of the labelled images that received it while their own was hidden, the share that is right."""
    calibration: Sequence[CalibrationBin] = ()
    """The bins of the reliability diagram, measured on held-out labelled images."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """What the run used, in the order to show it."""
    problems: Sequence[Problem] = ()
    """Files that were left out, and other things that went wrong, each with its reason."""
    title: str = "Labelled images"
    image_root: str = ""
    """Path from the report to where the files lie (``"../photos"``); the page then links to them."""

    def __post_init__(self) -> None:
        """Check lengths and ranges once; afterwards every field is an array or a list of strings."""
        self.files = [str(name) for name in self.files]
        if not self.files:
            raise InvalidInputError("a report needs at least one image; got none")
        self.labels = self._texts(self.labels, "labels")
        self.runner_up = self._texts(self.runner_up, "runner_up")
        given = self.given_labels if len(self.given_labels) else [""] * self.n_images
        self.given_labels = self._texts(given, "given_labels")
        self.confidence = self._scores(self.confidence, "confidence")
        self.margin = self._scores(self.margin, "margin", low=-1.0)
        self.unreached = self._marks(self.unreached, "unreached")
        self.out_of_distribution = self._marks(self.out_of_distribution, "out_of_distribution")
        self.neighbors = self._neighbors(self.neighbors)
        if self.features is not None:
            self.features = self._matrix(self.features, "features")
        if self.coordinates is not None:
            self.coordinates = self._matrix(self.coordinates, "coordinates")
            if self.coordinates.shape[1] != 2:
                raise InvalidInputError(
                    f"coordinates must be two numbers an image; got shape {self.coordinates.shape}"
                )
            if not self.map_method:
                raise InvalidInputError("coordinates need map_method: the page names it; got an empty text")
        for suspicion in self.suspicions:
            if not 0 <= suspicion.index < self.n_images:
                raise InvalidInputError(
                    f"a suspicion must name an image from 0 to {self.n_images - 1}; got {suspicion.index}"
                )

    @property
    def n_images(self) -> int:
        """The number of images."""
        return len(self.files)

    @property
    def given(self) -> NDArray[np.bool_]:
        """True for images whose label the user gave."""
        return np.array([bool(label) for label in self.given_labels])

    @property
    def classes(self) -> list[str]:
        """Every label that occurs, in natural order (2 before 10)."""
        suggested = [suspicion.suggested for suspicion in self.suspicions]
        names = {*self.labels, *self.given_labels, *self.runner_up, *suggested, *self.class_accuracy}
        return sorted(names - {""}, key=_natural)

    def _length(self, got: int, name: str) -> None:
        if got != self.n_images:
            raise InvalidInputError(
                f"{name} needs one entry an image: {self.n_images} images; got {got} entries"
            )

    def _texts(self, values: Sequence[str], name: str) -> list[str]:
        texts = ["" if value is None else str(value) for value in values]
        self._length(len(texts), name)
        return texts

    def _scores(self, values: ArrayLike, name: str, low: float = 0.0) -> NDArray[np.float64]:
        scores = np.asarray(values, dtype=np.float64).ravel()
        self._length(len(scores), name)
        bad = ~((scores >= low) & (scores <= 1))
        if bad.any():
            raise InvalidInputError(
                f"{name} must lie in [{low:g}, 1], 0 where there is no label; got {scores[bad][0]:g} "
                f"for image {int(np.flatnonzero(bad)[0])}"
            )
        return scores

    def _marks(self, values: ArrayLike, name: str) -> NDArray[np.bool_]:
        marks = np.asarray(values, dtype=bool).ravel()
        if len(marks) == 0:
            marks = np.zeros(self.n_images, bool)
        self._length(len(marks), name)
        return marks

    def _matrix(self, values: ArrayLike, name: str) -> NDArray[np.float32]:
        matrix = check_features(values, name=name)
        self._length(len(matrix), name)
        return matrix

    def _neighbors(self, values: ArrayLike) -> NDArray[np.int64]:
        lists = np.asarray(values)
        if lists.size == 0:
            return np.empty((self.n_images, 0), np.int64)
        if lists.ndim != 2 or lists.dtype.kind not in "iu":
            raise InvalidInputError(
                "neighbors must be an integer matrix, row i listing the images most similar to image i; "
                f"got shape {lists.shape}, dtype {lists.dtype}"
            )
        self._length(len(lists), "neighbors")
        if lists.min() < -1 or lists.max() >= self.n_images:
            raise InvalidInputError(
                f"neighbors must name images 0 to {self.n_images - 1} (-1 = none); "
                f"got entries from {lists.min()} to {lists.max()}"
            )
        return lists.astype(np.int64)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A sort key that reads runs of digits as numbers."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), "") if part[0] in "0123456789" else (1, 0, part.casefold()) for part in parts]
