"""Labels from a network that was adapted to the images, if held-out labels say that this is better.

The network is adapted three times (:mod:`grande_gnn.images.adapt`): with all labels, and with each half of them. The
labels come from the features of the first network. The other two test it: a network that was adapted with one half has not
seen the labels of the other half, so its predictions for them show whether adapting helps. The weights of the committee, the
expected accuracy and the calibration follow from these predictions, as they do without adapting.

Three labellings are compared on these held-out labels: with the features of the original network, of the adapted one, and of
both side by side. The one with the most right predictions is used, except that the adapted network alone must be better than
both by more than noise: few labels cannot tell these two apart, and both together are the safer choice. If both are
worse than the original network, the better one of the two networks is used.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.classifier.graph_free import is_clearly_better
from grande_gnn.classifier.halves import HalfFeatures, Halves
from grande_gnn.errors import FileFormatError, GrandeError, TrainingDivergedError
from grande_gnn.images import (
    Extraction,
    default_store_folder,
    extract_features,
    join_extractions,
    load_extractor,
)
from grande_gnn.images.adapt import (
    VERSION,
    AdaptOptions,
    adapt_network,
    prepare_views,
    view_features,
)
from grande_gnn.images.adapt_memory import predicted_gib
from grande_gnn.images.networks import load_trainable
from grande_gnn.images.side_by_side import unit_rows
from grande_gnn.images.squares import read_squares, square_features
from grande_gnn.images.view_source import ViewSource
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import encode_labels
from grande_gnn.labelling.assess import assess
from grande_gnn.labelling.label_options import LabelOptions
from grande_gnn.labelling.result import Labelling

__all__ = ["Adapted", "adapt_labelling", "chosen_features", "held_out_hits", "memory_sentence"]

FROZEN, ADAPTED, BOTH = "frozen", "adapted", "both"
"""The features that give the labels: those of the original network, of the adapted one, or of both side by side."""

logger = logging.getLogger(__name__)

Tell = Callable[..., object]
"""Called with the number of finished and of all steps, a sentence or ``""``, and a text for the end of a progress bar."""


@dataclass(frozen=True, eq=False)
class Adapted:
    """The result of adapting."""

    result: Labelling
    extraction: Extraction
    """The extraction of the features that the result was computed from."""
    notes: dict[str, object]
    """For ``settings.json``: what was done, what was chosen and why."""
    weights: Path | None
    """The file of the adapted weights; None if they are not used."""


def adapt_labelling(frozen: Labelling, extraction: Extraction, options: LabelOptions, tell: Tell) -> Adapted:
    """Adapt the network of a labelling and label again; the better labelling is returned.

    Parameters
    ----------
    frozen : the labelling from the original network.
    extraction : its features.
    """
    clf, how = frozen.classifier, options.adaptation
    assert clf is not None  # just fitted
    assert how is not None  # asked for
    how = how.filled()
    codes, _ = encode_labels(frozen.given)
    halves = clf.halves_ if clf.halves_ is not None else clf.train_halves(codes)
    unchanged = Adapted(frozen, extraction, {"form": how.form, "used": FROZEN, "held_out": {}}, None)
    if halves is None or not halves.answerable().any():
        tell(0, 0, f"The network is not adapted: {_why_unjudged(codes)}.")
        return unchanged
    work = _Work(extraction, options, how, clf, codes, halves, _error(frozen), tell)
    try:
        weights = work.weights()
    except TrainingDivergedError as error:
        tell(0, 0, f"The original network is used: {error}.")
        return unchanged
    return _better(frozen, work, weights)


def memory_sentence(gib: float) -> str:
    """The sentence that is printed before the whole network is adapted on a GPU."""
    return (
        f"Adapting takes about {gib:.1f} GiB of GPU memory with lite0, however many images there are; if the GPU has "
        "less, batches are smaller."
    )


class _Work:
    """The three adaptations of one labelling, and the labellings from their features."""

    def __init__(
        self,
        extraction: Extraction,
        options: LabelOptions,
        how: AdaptOptions,
        clf: GrandeClassifier,
        codes: NDArray[np.int64],
        halves: Halves,
        error: float | None,
        tell: Tell,
    ) -> None:
        self.extraction, self.options, self.how, self.tell = extraction, options, how, tell
        self.clf, self.codes, self.halves, self.error = clf, codes, halves, error
        self.name = str(options.extractor)
        self.device = resolve_device(options.device)
        self.preprocess = load_trainable(self.name, options.weights).preprocess
        self.squares = read_squares(extraction.images.paths(), self.preprocess, partial(self._report, "read"))
        self.frozen = extraction.features()
        self.folder = Path(options.store or default_store_folder())

    @cached_property
    def views(self) -> ViewSource:
        """The views that all three trainings share; made when the first of them needs them."""
        if self.how.form == "full" and self.device.type == "cuda":
            size = self.how.size or self.preprocess.size
            self.tell(0, 0, memory_sentence(predicted_gib(self.how.chosen, size)))
        elif self.how.form == "full":
            self.tell(
                0, 0, "Training the whole network takes hours without a GPU; --adapt last takes minutes."
            )
        report = partial(self._report, message="Views of all images are computed once.")
        return prepare_views(self.squares, self.name, self.how, report)

    def _report(self, stage: str, done: int, total: int, message: str = "") -> None:
        self.tell(done, total, message if done == total else "", stage)

    def weights(self) -> tuple[Path, Path, Path]:
        """The files of weights adapted with all labels, and with each half of them."""
        answers = (self.clf.label_distributions_, *self.halves.probabilities)
        given = [self.codes, *(np.where(half, self.codes, -1) for half in self.halves.known)]
        one, two, three = (
            self._adapted(number, codes, p)
            for number, (codes, p) in enumerate(zip(given, answers, strict=True))
        )
        return one, two, three

    def _adapted(self, number: int, codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> Path:
        """The file of weights adapted with these labels; made if an earlier run did not."""
        how, steps = self.how, self.how.chosen.steps
        path = self._place(codes)
        if self._is_made(path):
            return path
        what = ("with all labels", "with the first half of the labels", "with the second half")[number]

        def report(stage: str, done: int, total: int, detail: str = "") -> None:
            if stage == "continue":
                self.tell(number * steps + done, 3 * steps, f"It continues at step {done} of {total}.")
            elif stage == "adapt":
                self.tell(number * steps + done, 3 * steps, "", detail)

        self.tell(number * steps, 3 * steps, f"{self.name} is adapted {what}.")
        adapted = adapt_network(
            self.squares, codes, self.name, partial(self._teach, probabilities),
            replace(how, checkpoint=path.with_suffix(".checkpoint")), features=self.frozen, error=self.error,
            views=self.views, progress=report,
        )  # fmt: skip
        try:
            adapted.save(path)
        except OSError as error:
            raise GrandeError(
                f"the adapted weights cannot be kept in {self.folder}: free some space or choose another folder with "
                f"GRANDE_CACHE, and run the command again; got {error.strerror}"
            ) from error
        return path

    def _place(self, codes: NDArray[np.int64]) -> Path:
        """Where weights adapted with these labels are kept: another file whenever they or the teacher would be others."""
        teacher = {
            name: value
            for name, value in self.options.classifier().get_params(deep=False).items()
            if name not in ("device", "memory_limit")
        }
        how = replace(self.how, weights=None, device="", checkpoint=None, recipe=self.how.chosen)
        settings = f"{VERSION} {self.extraction.identity} {how} {sorted(teacher.items())}"
        digest = hashlib.blake2b(settings.encode(), digest_size=8)
        digest.update(codes.tobytes() + b"".join(self.extraction.digests))
        return self.folder / f"adapted-{digest.hexdigest()}.safetensors"

    def _is_made(self, path: Path) -> bool:
        """Whether an earlier run left these weights; a damaged file is removed, because they can be made again."""
        if not path.exists():
            return False
        try:
            load_extractor(self.name, path)
        except FileFormatError as error:
            logger.warning("Weights that an earlier run adapted are adapted again: %s", error)
            path.unlink(missing_ok=True)
            return False
        return True

    def _teach(
        self, first: NDArray[np.float64], features: NDArray[np.float32], codes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """GRaNDe's probabilities; the first ones, from the original features, are known already."""
        if features is self.frozen:
            return first
        labels = [
            label if code >= 0 else ""
            for label, code in zip(self.extraction.images.labels, codes, strict=True)
        ]
        clf = self.options.classifier().fit(features, labels)
        answer = np.zeros_like(first)
        answer[:, np.unique(codes[codes >= 0])] = clf.label_distributions_
        return answer

    def fit(
        self, used: str, extraction: Extraction, judges: Sequence[NDArray[np.float32]]
    ) -> GrandeClassifier:
        """Fit GRaNDe to these features; the networks that were adapted with halves of the labels judge it."""
        if used == BOTH:
            judges = [np.concatenate([unit_rows(self.frozen), unit_rows(own)], axis=1) for own in judges]
        judging = HalfFeatures(self.halves.known, (judges[0], judges[1]))
        labels = self.extraction.images.labels
        return self.options.classifier().fit(extraction.features(), labels, halves=judging)

    def features(self, path: Path) -> NDArray[np.float32]:
        """The features of all images, computed by the network with these weights from the views in memory."""
        network = load_extractor(self.name, path)
        if self.how.form == "full":
            return square_features(network, self.squares, self.device)
        if "views" not in self.__dict__:  # an earlier run left the weights, and no random views are needed
            self.views = prepare_views(self.squares, self.name, self.how, only_center=True)
        return view_features(network, self.views, len(self.codes), self.how)


def _better(frozen: Labelling, work: _Work, weights: tuple[Path, Path, Path]) -> Adapted:
    """The labelling that :func:`chosen_features` names."""
    options, images = work.options, work.extraction.images
    adapted = extract_features(
        images, load_extractor(work.name, weights[0]), store=options.store, device=options.device,
        workers=options.workers,
    )  # fmt: skip
    sources = {ADAPTED: adapted, BOTH: join_extractions([work.extraction, adapted])}
    judges = [work.features(path) for path in weights[1:]]
    fitted = {used: work.fit(used, source, judges) for used, source in sources.items()}
    right = {FROZEN: held_out_hits(work.halves)}
    for used, clf in fitted.items():
        halves = clf.halves_ if clf.halves_ is not None else clf.train_halves(work.codes)
        assert halves is not None  # as for the frozen network
        right[used] = held_out_hits(halves)
    best = chosen_features(right)
    hits = {used: int(each.sum()) for used, each in right.items()}
    notes: dict[str, object] = {
        "form": work.how.form, "used": best, "steps": work.how.chosen.steps, "held_out": hits,
    }  # fmt: skip
    n = len(right[FROZEN])
    if best == FROZEN:
        work.tell(0, 0, f"Adapting did not help: {hits[FROZEN]} of {n} held-out labels are right without it, "
                  f"{max(hits[ADAPTED], hits[BOTH])} with it. The original network is used.")  # fmt: skip
        return Adapted(frozen, work.extraction, notes, None)
    work.tell(0, 0, f"The adapted network is used: {hits[best]} of {n} held-out labels are right, "
              f"{hits[FROZEN]} with the original network.")  # fmt: skip
    result = assess(fitted[best], images.labels, images.files, coverage=options.coverage)
    return Adapted(result, sources[best], notes, weights[0])


def _why_unjudged(codes: NDArray[np.int64]) -> str:
    """Why no label can be held out."""
    if len(np.unique(codes[codes >= 0])) == 1:
        return "all labels are of one class, so there is nothing to learn"
    return "with one label per class, not counting copies, no label is left to check whether that helps"


def _error(frozen: Labelling) -> float | None:
    """The share of wrong labels that the labelling from the original network expects."""
    return None if frozen.accuracy is None else 1 - frozen.accuracy.value


def chosen_features(right: Mapping[str, NDArray[np.float64]]) -> str:
    """Which features give the labels: ``"frozen"``, ``"adapted"`` or ``"both"``.

    ``right`` has for each of them which held-out labels are predicted correctly, as :func:`held_out_hits` returns it.
    """
    best = max((BOTH, ADAPTED, FROZEN), key=lambda used: right[used].sum())  # of equals, the first
    if best != ADAPTED or right[BOTH].sum() < right[FROZEN].sum():
        return best
    return ADAPTED if is_clearly_better(right[ADAPTED], right[BOTH]) else BOTH


def held_out_hits(halves: Halves) -> NDArray[np.float64]:
    """1 for each held-out label that is predicted correctly, else 0, if the half that predicts knows the label's class."""
    return halves.held_out().hits[halves.answerable()]
