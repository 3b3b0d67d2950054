"""How large the sets of possible labels are, and what they promise."""

from __future__ import annotations

from collections import Counter

from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Section

__all__ = ["POSSIBLE_LABELS"]


def _render(labelling: Labelling, page: Page) -> Markup:
    if labelling.label_sets is None or labelling.sets_made is None:
        return Markup()
    free = [found for found, given in zip(labelling.label_sets, labelling.given, strict=True) if not given]
    sizes = Counter(map(len, free))
    return page.render(
        "possible_labels",
        made=labelling.sets_made,
        sizes=sorted(sizes.items()),
        n_free=len(free),
        mean=sum(map(len, free)) / max(len(free), 1),
    )


POSSIBLE_LABELS = Section("sets", "Label sets", _render)
"""Shown only if a coverage was requested."""
