"""One row per class: accuracy, mean confidence, and how many images have it."""

from __future__ import annotations

from collections import Counter

import numpy as np
from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Section

__all__ = ["CLASS_TABLE"]


def _render(labelling: Labelling, page: Page) -> Markup:
    given, labels = Counter(labelling.given), np.array(labelling.labels, dtype=object)
    rows = []
    for name in page.classes:
        received = ~page.given & (labels == name)
        rows.append(
            {
                "name": name,
                "given": given[name],
                "predicted": int(received.sum()),
                "confidence": float(labelling.confidence[received].mean()) if received.any() else None,
                "accuracy": labelling.class_accuracy.get(name),
            }
        )
    return page.render("class_table", rows=rows)


CLASS_TABLE = Section("classes", "Classes", _render)
"""The classes, in a table that sorts by any column."""
