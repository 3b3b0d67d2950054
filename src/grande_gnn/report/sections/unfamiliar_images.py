"""Images that resemble no labelled class and may belong to a class that nobody labelled."""

from __future__ import annotations

from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Highlight, Section, first_rows

__all__ = ["UNFAMILIAR_IMAGES"]


def _count(labelling: Labelling) -> int:
    return 0 if labelling.is_unfamiliar is None else int(labelling.is_unfamiliar.sum())


def _rows(labelling: Labelling) -> list[int]:
    """The flagged images, the most unfamiliar first."""
    if labelling.unfamiliar is None or labelling.is_unfamiliar is None:
        return []
    return first_rows(labelling.is_unfamiliar, -labelling.unfamiliar)


def _render(labelling: Labelling, page: Page) -> Markup:
    if labelling.unfamiliar is None:
        return Markup()
    rows = _rows(labelling)
    return page.render(
        "unfamiliar_images",
        cards=page.cards(rows) if rows else "",
        n_listed=len(rows),
        n_unfamiliar=_count(labelling),
    )


def _highlights(labelling: Labelling) -> list[Highlight]:
    if labelling.unfamiliar is None:
        return []
    return [Highlight(_count(labelling), "unfamiliar")]


UNFAMILIAR_IMAGES = Section("unfamiliar", "Unfamiliar", _render, _rows, _highlights)
"""Where a class may be missing."""
