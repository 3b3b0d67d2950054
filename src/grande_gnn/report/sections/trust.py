"""The reliability diagram: how often labels of a given confidence are right, on held-out labelled images."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from grande_gnn.labelling.confidence import ReliabilityBin, wilson_interval
from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Section

__all__ = ["TRUST"]


def _render(labelling: Labelling, page: Page) -> Markup:
    filled = [part for part in labelling.bins if part.count]
    most = max((part.count for part in filled), default=0)
    dots = [
        {
            "bin": part,
            "interval": wilson_interval(part.accuracy * part.count, part.count),
            "radius": round(3 + 5 * math.sqrt(part.count / most), 1),
        }
        for part in filled
    ]
    return page.render("trust", dots=dots, calibration_error=_calibration_error(filled) if filled else 0.0)


def _calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Expected calibration error: the mean gap between confidence and accuracy, weighted by images."""
    total = sum(part.count for part in bins)
    return sum(part.count * abs(part.confidence - part.accuracy) for part in bins) / total


TRUST = Section("trust", "Trust", _render)
"""Whether labels are right as often as their confidence says."""
