"""The quick answer: what the last full training would say with a few more labels, without training.

Let P be the probabilities of the last full training and E the error it makes on the images decided since: (true class − P)
there, 0 on the images whose labels it knew. Errors are alike among neighbors, so E is spread over the graph with the
decided images held fixed (the "correct" step of Huang et al., Combining Label Propagation and Simple Models
Out-performs Graph Neural Networks, ICLR 2021), and the quick answer is P + E:

    E ← α D^(−½) (A + I) D^(−½) E,  E = its known value on labelled images

It takes a fraction of a second and is marked as provisional until the full training has replaced it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from grande_gnn.labelling.result import Labelling

__all__ = ["Answer", "QuickAnswer", "answer_of"]

ALPHA = 0.8
"""The share of an error that reaches the neighbors."""

STEPS = 10
"""Hops over which errors spread: as many as the default model's diffusion has."""

N_NEIGHBORS = 40
"""Length of the ranked lists over which errors spread: the paper's."""

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

    def __init__(self, full: Labelling) -> None:
        assert full.classifier is not None  # a labelling without one has no quick answer
        assert full.neighbors is not None
        self.full = full
        self.classes = [str(name) for name in full.classifier.classes_]
        n = len(full.files)
        self.probabilities = np.asarray(full.classifier.label_distributions_[:n], dtype=np.float64)
        self._spread = _normalized(full.neighbors.lists(N_NEIGHBORS))

    def answer(self, given: Mapping[int, str]) -> Answer:
        """The answer if ``given`` (row to label) are all labels there are."""
        full = self.full
        changed = [row for row in range(len(full.files)) if given.get(row, "") not in ("", full.given[row])]
        if not changed:
            return Answer(full.labels, full.confidence, full.runner_up, is_provisional=True)
        names = [
            *self.classes,
            *dict.fromkeys(given[row] for row in changed if given[row] not in self.classes),
        ]
        code = {name: c for c, name in enumerate(names)}
        P = np.pad(self.probabilities, ((0, 0), (0, len(names) - len(self.classes))))
        known = np.zeros((len(changed), len(names)))
        known[np.arange(len(changed)), [code[given[row]] for row in changed]] = 1
        certain = [row for row in given if full.given[row] == given[row]]
        error = self._spread_errors(np.array(changed), known - P[changed], np.array(certain, dtype=np.int64))
        return self._read(np.clip(P + error, 0, None), names, given)

    def _spread_errors(self, rows: NDArray[np.int64], values: Float, certain: NDArray[np.int64]) -> Float:
        error = np.zeros((len(self.full.files), values.shape[1]))
        error[rows] = values
        for _ in range(STEPS):
            error = ALPHA * (self._spread @ error)
            error[rows] = values
            error[certain] = 0
        return error

    def _read(self, p: Float, names: list[str], given: Mapping[int, str]) -> Answer:
        """Labels from probabilities; where the label stays, the calibrated confidence of the full training does too."""
        full, rows = self.full, np.arange(len(p))
        p /= np.maximum(p.sum(axis=1, keepdims=True), 1e-12)
        best = p.argmax(axis=1)
        labels = [given.get(row) or names[best[row]] for row in rows.tolist()]
        others = p.copy()
        others[rows, best] = -1
        second = [names[c] for c in others.argmax(axis=1)] if len(names) > 1 else [""] * len(p)
        stays = np.array([a == b for a, b in zip(labels, full.labels, strict=True)])
        confidence = np.where(stays, full.confidence, p[rows, best])
        runner_up = [full.runner_up[r] if stays[r] else second[r] for r in rows.tolist()]
        return Answer(labels, confidence, runner_up, is_provisional=True)


def _normalized(lists: NDArray[np.int32]) -> sp.csr_matrix:
    """D^(−½) (A + I) D^(−½) of the reciprocal graph of the ranked lists."""
    n, k = lists.shape
    one_way = sp.csr_matrix((np.ones(n * k), (np.repeat(np.arange(n), k), lists.ravel())), shape=(n, n))
    both = one_way.minimum(one_way.T).tocsr()  # each image lists itself, so the self-loops are there
    scale = sp.diags(1 / np.sqrt(np.asarray(both.sum(axis=1)).ravel()))
    return (scale @ both @ scale).tocsr()
