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
    given, free = Counter(labelling.given), ~page.given
    code = {name: i for i, name in enumerate(page.classes)} | {"": len(page.classes)}
    received = np.array([code[label] for label in labelling.labels])[free]
    counts = np.bincount(received, minlength=len(code))
    sums = np.bincount(received, labelling.confidence[free], minlength=len(code))
    rows = [
        {
            "name": name,
            "given": given[name],
            "predicted": int(counts[i]),
            "confidence": float(sums[i] / counts[i]) if counts[i] else None,
            "accuracy": labelling.class_accuracy.get(name),
        }
        for i, name in enumerate(page.classes)
    ]
    return page.render("class_table", rows=rows)


CLASS_TABLE = Section("classes", "Classes", _render)
"""The classes, in a table that sorts by any column."""
