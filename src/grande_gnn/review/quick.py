"""The quick answer: what the last full training would say with other labels, without training.

:mod:`grande_gnn.labelling.other_labels` says how it is computed. What it needs of a full training is prepared once; an
answer then takes a fraction of a second, and is marked as provisional until the full training has replaced it.
docs/review.md tells how often both agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grande_gnn.labelling.other_labels import OtherLabels, principal_components
from grande_gnn.labelling.result import Labelling

__all__ = ["Answer", "QuickAnswer", "answer_of"]

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answer:
    """A label, its confidence and the runner-up for every image; ``is_provisional`` until trained in full."""

    labels: list[str]
    confidence: Float
    runner_up: list[str]
    is_provisional: bool = False


def answer_of(full: Labelling) -> Answer:
    """The answer of a full training."""
    return Answer(full.labels, full.confidence, full.runner_up)


class QuickAnswer:
    """Answers for other labels than those of a full training, without training again."""

    def __init__(self, full: Labelling, components: NDArray[np.float32] | None = None) -> None:
        assert full.classifier is not None  # a labelling without one has no quick answer
        self.full = full
        self.components = principal_components(full.classifier) if components is None else components
        self.classes = [str(name) for name in full.classifier.classes_]
        self._other = OtherLabels(full.classifier, self.components)

    def after(self, full: Labelling) -> QuickAnswer:
        """The same for another full training of the same images."""
        return QuickAnswer(full, self.components)

    def answer(self, given: Mapping[int, str]) -> Answer:
        """The answer if ``given`` (row to label) are all labels there are."""
        now = [given.get(row, "") for row in range(len(self.full.files))]
        if now == self.full.given or not given:
            return Answer(self.full.labels, self.full.confidence, self.full.runner_up, is_provisional=True)
        names = [*self.classes, *dict.fromkeys(label for label in now if label and label not in self.classes)]
        before, after = (self._codes(labels, names) for labels in (self.full.given, now))
        p = self._other.probabilities(before, after, len(names))[: len(now)]
        return self._read(p, names, now)

    def _codes(self, labels: list[str], names: list[str]) -> NDArray[np.int64]:
        """The code of each label; what else is in the graph has none."""
        code = {name: c for c, name in enumerate(names)}
        codes = np.full(len(self.components), -1)
        codes[: len(labels)] = [code.get(label, -1) for label in labels]
        return codes

    def _read(self, p: Float, names: list[str], given: list[str]) -> Answer:
        """Labels from probabilities; where the label stays, the calibrated confidence of the full training stays too."""
        full, rows = self.full, np.arange(len(p))
        best = p.argmax(axis=1)
        labels = [label or names[c] for label, c in zip(given, best, strict=True)]
        others = p.copy()
        others[rows, best] = -1
        second = [names[c] for c in others.argmax(axis=1)] if len(names) > 1 else [""] * len(p)
        stays = np.array([a == b for a, b in zip(labels, full.labels, strict=True)])
        confidence = np.where(stays, full.confidence, p[rows, best])
        runner_up = [full.runner_up[r] if stays[r] else second[r] for r in rows.tolist()]
        return Answer(labels, confidence, runner_up, is_provisional=True)
