"""Images far from all others, and images that no label reaches through the graph."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import LISTED, Highlight, Section, first_rows

__all__ = ["OUTSIDE"]


def _far(labelling: Labelling) -> list[int]:
    """The images out of distribution, least sure first; ties by margin."""
    return first_rows(labelling.out_of_distribution, labelling.confidence, labelling.margin)


def _unreached(labelling: Labelling) -> list[int]:
    return np.flatnonzero(labelling.unreached)[:LISTED].tolist()


def _rows(labelling: Labelling) -> list[int]:
    return _far(labelling) + _unreached(labelling)


def _render(labelling: Labelling, page: Page) -> Markup:
    far, unreached = _far(labelling), _unreached(labelling)
    return page.render(
        "outside",
        far=page.cards(far, compact=True) if far else "",
        n_far_listed=len(far),
        n_far=int(labelling.out_of_distribution.sum()),
        unreached=page.cards(unreached, compact=True) if unreached else "",
        n_unreached_listed=len(unreached),
        n_unreached=int(labelling.unreached.sum()),
    )


def _highlights(labelling: Labelling) -> list[Highlight]:
    return [
        Highlight(int(labelling.out_of_distribution.sum()), "out of distribution"),
        Highlight(int(labelling.unreached.sum()), "not reached by a label"),
    ]


OUTSIDE = Section("outside", "Outside", _render, _rows, _highlights)
"""Images that the labels say little about."""
