"""The tiles at the top: expected accuracy, numbers of images, and what deserves a look."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Section

__all__ = ["OVERVIEW"]


def _render(labelling: Labelling, page: Page) -> Markup:
    labelled = np.array([bool(label) for label in labelling.labels])
    return page.render(
        "overview",
        accuracy=labelling.accuracy,
        note=labelling.said(labelling.note),
        doubts=[labelling.said(doubt) for doubt in labelling.doubts],
        n_images=len(labelling.files),
        n_given=int(page.given.sum()),
        n_predicted=int((~page.given & labelled).sum()),
        n_without=int((~page.given & ~labelled).sum()),
        n_classes=len(page.classes),
        highlights=page.highlights,
    )


OVERVIEW = Section("overview", "Summary", _render, is_linked=False)
"""Expected accuracy, counts, and links to what deserves a look."""
