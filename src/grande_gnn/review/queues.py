"""The queues: which images are shown and in which order, each explained in one line.

A queue is a function from a :class:`View` to row numbers. ``look`` says how the page shows it: one image at a time, many as
a gallery, a map, or a blind audit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.suggest import suggest
from grande_gnn.review.quick import Answer

__all__ = ["MAX_ROWS", "QUEUES", "Queue", "View", "register_queue"]

MAX_ROWS = 10_000
"""The longest part of a queue that the page gets at once: row numbers alone, about 60 kB."""

MAX_USEFUL = 60
"""This many of the most useful images are chosen at once: they are chosen again after every decision."""


@dataclass(frozen=True, eq=False)
class View:
    """What a queue may look at: the last full training, the present answer, and the decisions."""

    full: Labelling
    answer: Answer
    labels: Sequence[str]
    """The present label of each image, decisions included."""
    given: Sequence[str]
    """The label that a person gave each image, ``""`` if none did."""
    done: NDArray[np.bool_]
    """Images that need no further look: decided or skipped in the review, or waiting in a running audit."""
    changed: Sequence[int] = ()
    """Images whose label the last training changed."""
    label: str = ""
    """The class of a gallery."""


@dataclass(frozen=True)
class Queue:
    """A queue, its title, one line that explains it, and how the page shows it."""

    name: str
    title: str
    about: str
    rows: Callable[[View], Sequence[int]]
    look: str = "single"
    count: Callable[[View], int] | None = None
    """How many images it has, if that is known without sorting them; shown in the menu."""


QUEUES: dict[str, Queue] = {}
"""Every queue by name, in the order of the page's menu."""


def register_queue(queue: Queue) -> Queue:
    """Add a queue to the menu of the page."""
    QUEUES[queue.name] = queue
    return queue


def _useful(view: View) -> Sequence[int]:
    """What :func:`~grande_gnn.labelling.suggest.suggest` proposes, without what was looked at already."""
    if view.full.neighbors is None:
        return _unsure(view)
    seen = int((view.done & np.array([not label for label in view.given])).sum())
    order = suggest(view.full, MAX_USEFUL + seen, labels=list(view.given))
    return [row for row in order.tolist() if not view.done[row]]


def _unsure(view: View) -> Sequence[int]:
    order = np.argsort(view.answer.confidence, kind="stable")
    return [row for row in order.tolist() if not view.done[row] and not view.given[row]]


def _n_open(view: View) -> int:
    return sum(not done and not given for done, given in zip(view.done, view.given, strict=True))


def _suspicious(view: View) -> Sequence[int]:
    return [doubt.row for doubt in view.full.suspicions if not view.done[doubt.row]]


def _outside(view: View) -> Sequence[int]:
    flagged = view.full.unreached | view.full.out_of_distribution
    return [row for row in np.flatnonzero(flagged & ~view.done).tolist() if not view.given[row]]


def _of_class(view: View) -> Sequence[int]:
    order = np.argsort(view.answer.confidence, kind="stable")
    return [row for row in order.tolist() if view.labels[row] == view.label]


def _changed(view: View) -> Sequence[int]:
    return list(view.changed)


def _none(view: View) -> Sequence[int]:
    return []


register_queue(
    Queue(
        "useful", "Most useful next", "The images whose labels teach most about all the others.", _useful,
        count=_n_open,
    )
)  # fmt: skip
register_queue(
    Queue(
        "unsure", "Least sure", "Images without a given label, the least certain answer first.", _unsure,
        count=_n_open,
    )
)  # fmt: skip
register_queue(
    Queue(
        "suspicious", "Suspicious labels", "Labels you gave that a model trained without them contradicts.", _suspicious,
        count=lambda view: len(_suspicious(view)),
    )
)  # fmt: skip
register_queue(
    Queue(
        "outside", "Outside", "Images far from all others, and images that no label reaches.", _outside,
        count=lambda view: len(_outside(view)),
    )
)  # fmt: skip
register_queue(
    Queue("class", "One class", "The images of one class, the least certain first.", _of_class, "gallery")
)
register_queue(
    Queue(
        "audit", "Random audit", "Judge a random sample without seeing the predicted labels, to measure the true accuracy.",
        _none, "audit",
    )
)  # fmt: skip
register_queue(
    Queue(
        "map",
        "Map",
        "Similar images lie close together: draw a line around some to select them.",
        _none,
        "map",
    )
)
register_queue(
    Queue(
        "changed", "Changed", "Images whose label changed in the latest training.", _changed, "gallery",
        count=lambda view: len(view.changed),
    )
)  # fmt: skip
