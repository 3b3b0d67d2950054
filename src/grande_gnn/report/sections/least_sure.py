"""The images whose label is most in doubt, with the runner-up."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.cards import Line, own_label
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Highlight, Section, first_rows

__all__ = ["LEAST_SURE"]

_UNSURE = 0.5
"""Below this confidence, a label is more likely to be wrong than right."""


def _rows(labelling: Labelling) -> list[int]:
    """The images without a given label that a label reaches, least sure first; ties by margin."""
    free = np.array([not label for label in labelling.given])
    return first_rows(free & ~labelling.unreached, labelling.confidence, labelling.margin)


def _lines(labelling: Labelling, row: int) -> list[Line]:
    lines = own_label(labelling, row)
    if labelling.runner_up[row]:
        second = max(0.0, float(labelling.confidence[row]) - float(labelling.margin[row]))
        lines.append(Line(labelling.runner_up[row], second, before="or", is_quiet=True))
    return lines


def _render(labelling: Labelling, page: Page) -> Markup:
    rows = _rows(labelling)
    return page.render("least_sure", cards=page.cards(rows, _lines) if rows else "")


def _highlights(labelling: Labelling) -> list[Highlight]:
    free = [bool(label) and not given for label, given in zip(labelling.labels, labelling.given, strict=True)]
    unsure = int((np.array(free) & (labelling.confidence < _UNSURE)).sum())
    return [Highlight(unsure, "less than 50\u00a0% sure")]


LEAST_SURE = Section("unsure", "Least sure", _render, _rows, _highlights)
"""The labels that are most likely to be wrong."""
