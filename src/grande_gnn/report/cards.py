"""A card: one image of a list, with labels next to its thumbnail and the images most similar to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grande_gnn.labelling.result import Labelling

if TYPE_CHECKING:
    from grande_gnn.report.page import Page

__all__ = ["Line", "build_card", "own_label"]


@dataclass(frozen=True)
class Line:
    """One label on a card; ``""`` is shown as "no label"."""

    label: str
    confidence: float | None = None
    """Printed after the label unless it is None."""
    before: str = ""
    """A word in front of the label."""
    is_quiet: bool = False
    """Whether it is printed small and gray."""


def own_label(labelling: Labelling, row: int) -> list[Line]:
    """The label of an image and its confidence."""
    label = labelling.labels[row]
    return [Line(label, float(labelling.confidence[row]) if label else None)]


def build_card(
    page: Page, row: int, lines: Callable[[Labelling, int], Sequence[Line]] | None = None
) -> dict[str, Any]:
    """What the template ``cards.html`` prints for one image."""
    labelling = page.labelling
    near = page.similar(row)
    best = [labelling.given[other] or labelling.labels[other] for other in near]
    numbers = [int(page.number[other]) for other in near]
    return {
        "number": int(page.number[row]),
        "file": labelling.files[row],
        "text": page.excerpt(row),
        "lines": (lines or own_label)(labelling, row),
        "similar": list(zip(numbers, best, strict=True)),
        "similar_texts": [
            (n, label, page.excerpt(other, 90)) for n, label, other in zip(numbers, best, near, strict=True)
        ],
        "similar_labels": Counter(label or "no label" for label in best).most_common(),
    }
