"""Files that could not be used and labels that match no file, each with its reason."""

from __future__ import annotations

from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Highlight, Section

__all__ = ["PROBLEM_LIST"]

_LISTED = 500
"""Problems on the page; all are in ``problems.csv``."""


def _render(labelling: Labelling, page: Page) -> Markup:
    problems = labelling.problems
    return page.render("problem_list", problems=problems[:_LISTED], n_problems=len(problems))


def _highlights(labelling: Labelling) -> list[Highlight]:
    n = len(labelling.problems)
    return [Highlight(n, "problem" if n == 1 else "problems")]


PROBLEM_LIST = Section("problems", "Problems", _render, highlights=_highlights)
"""What went wrong with individual files."""
