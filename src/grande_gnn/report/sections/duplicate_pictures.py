"""Images that occur more than once."""

from __future__ import annotations

from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.cards import Line
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import LISTED, Highlight, Section

__all__ = ["DUPLICATE_PICTURES"]


def _all_rows(labelling: Labelling) -> list[int]:
    return [row for row, first in enumerate(labelling.copy_of or []) if first]


def _rows(labelling: Labelling) -> list[int]:
    return _all_rows(labelling)[:LISTED]


def _render(labelling: Labelling, page: Page) -> Markup:
    rows = _rows(labelling)
    if not rows:
        return Markup()
    row_of = {file: row for row, file in enumerate(labelling.files)}
    firsts = labelling.copy_of or []

    def lines(labelling: Labelling, row: int) -> list[Line]:
        first = row_of.get(firsts[row])
        own = Line(labelling.labels[row])
        if first is None or labelling.labels[first] == labelling.labels[row]:
            return [own]
        return [own, Line(labelling.labels[first], before="the original:")]

    return page.render(
        "duplicate_pictures",
        cards=page.cards(rows, lines),
        pairs=[(labelling.files[row], firsts[row]) for row in rows],
        n_listed=len(rows),
        n_copies=len(_all_rows(labelling)),
    )


def _highlights(labelling: Labelling) -> list[Highlight]:
    n = len(_all_rows(labelling))
    text = labelling.said("copy of another image" if n == 1 else "copies of other images")
    return [Highlight(n, text)] if n else []


DUPLICATE_PICTURES = Section("copies", "Copies", _render, _rows, _highlights)
"""Copies of other images; all copies of one image count once in the estimate of the accuracy."""
