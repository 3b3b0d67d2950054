"""Reports of progress that a labelling sends to its caller."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from grande_gnn.internal.progress import reporting_to

__all__ = ["Progress", "Step", "counted", "silent"]


@dataclass(frozen=True)
class Step:
    """One report of progress: how far a stage is, or a sentence for the user.

    Stages are ``"find"``, ``"extract"``, ``"neighbors"``, ``"graph"``, ``"train"``, ``"check"`` (trainings on halves of the
    labels), ``"adapt"``, ``"write"`` and ``"copy"``. ``total`` is 0 if a stage is not counted.

    >>> print(Step("extract", 32, 128)); print(Step("find", message="Labels are read from labels.csv."))
    extract: 32 of 128
    Labels are read from labels.csv.
    """

    stage: str
    done: int = 0
    total: int = 0
    message: str = ""
    detail: str = ""
    """What a progress bar may show after the count."""

    def __str__(self) -> str:
        return self.message or (f"{self.stage}: {self.done} of {self.total}" if self.total else self.stage)


Progress = Callable[[Step], object]
"""A function that is called with each :class:`Step`; ``print`` is one."""


def silent(step: Step) -> None:
    """Used if the caller gave no progress function."""


def counted(progress: Progress | None) -> AbstractContextManager[None]:
    """Report the counted work inside the ``with`` block (neighbors, graphs, trainings, files) as steps.

    >>> from grande_gnn.internal.progress import counting
    >>> with counted(print):
    ...     counting("train", 200)(100)
    train: 0 of 200
    train: 100 of 200
    """
    if progress is None or progress is silent:
        return nullcontext()
    return reporting_to(lambda stage, done, total: progress(Step(stage, done, total)))
