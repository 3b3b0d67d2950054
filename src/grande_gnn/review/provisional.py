"""Answers until the next full training is finished, each from the training whose labels are nearest to the present ones.

A decision is answered in two steps. At once there is a quick answer without training (:mod:`grande_gnn.review.quick`).
On small data the answer of a short training (:mod:`grande_gnn.labelling.short_training`) follows, and further quick answers
start from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.short_training import Trained, trained_of
from grande_gnn.review.quick import Answer, Basis, QuickAnswer, basis_of

__all__ = ["Provisional"]


class Provisional:
    """Quick answers from the latest full training or the latest short one."""

    def __init__(self, full: Labelling) -> None:
        self._worker = ThreadPoolExecutor(1, "grande-basis")
        self._basis: Future[Basis] | None = None
        self._quick: list[QuickAnswer] = []
        self._short: Trained | None = None
        self.renew(full)

    def renew(self, full: Labelling) -> None:
        """A full training is finished; features and graph stay, so the diffused features are made only once."""
        self.full = full
        self._quick = []
        self._full = None if full.classifier is None else trained_of(full)
        if self._basis is None and full.classifier is not None and full.neighbors is not None:
            self._basis = self._worker.submit(basis_of, full)

    def offer(self, short: Trained) -> None:
        """A short training is finished."""
        self._short = short

    def answer(self, given: Mapping[int, str]) -> Answer | None:
        """The answer if ``given`` (row to label) are all labels there are; None as long as there is no model."""
        if self._basis is None or self._full is None:
            return None
        trained = self._full
        if self._short is not None and _n_other(self._short, given) < _n_other(trained, given):
            trained = self._short
        quick = next((known for known in self._quick if known.trained is trained), None)
        if quick is None:
            quick = QuickAnswer(self.full, self._basis.result(), trained)
            self._quick = [*self._quick[-1:], quick]
        return quick.answer(given)

    def close(self) -> None:
        """Prepare nothing further."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _n_other(trained: Trained, given: Mapping[int, str]) -> int:
    """How many labels differ from those of a training."""
    return sum(label != given.get(row, "") for row, label in enumerate(trained.given))
