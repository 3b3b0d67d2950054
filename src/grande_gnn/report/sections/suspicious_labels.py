"""Given labels that the prediction contradicts when it is made without them."""

from __future__ import annotations

from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.cards import Line
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import LISTED, Highlight, Section

__all__ = ["SUSPICIOUS_LABELS"]


def _rows(labelling: Labelling) -> list[int]:
    return [suspicion.row for suspicion in labelling.suspicions][:LISTED]


def _render(labelling: Labelling, page: Page) -> Markup:
    doubts = {suspicion.row: suspicion for suspicion in labelling.suspicions}

    def lines(labelling: Labelling, row: int) -> list[Line]:
        doubt = doubts[row]
        return [
            Line(labelling.given[row], before="Given"),
            Line(doubt.label, doubt.confidence, before="Suggested"),
        ]

    rows = _rows(labelling)
    return page.render(
        "suspicious_labels",
        cards=page.cards(rows, lines) if rows else "",
        n_listed=len(rows),
        n_suspicious=len(labelling.suspicions),
        was_checked=any(part.count for part in labelling.bins),
    )


def _highlights(labelling: Labelling) -> list[Highlight]:
    n = len(labelling.suspicions)
    return [Highlight(n, "suspicious given label" if n == 1 else "suspicious given labels")]


SUSPICIOUS_LABELS = Section("suspicious", "Suspicious labels", _render, _rows, _highlights)
"""Labels that may have been given by mistake."""
