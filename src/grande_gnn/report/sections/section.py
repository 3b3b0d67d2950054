"""What a section of the report is, and the registry of all sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.result import Labelling

if TYPE_CHECKING:
    from grande_gnn.report.page import Page

__all__ = ["LISTED", "SECTIONS", "Highlight", "Section", "first_rows", "register_section"]

LISTED = 60
"""Images in one list of the page; the others are in ``predictions.csv``."""


def first_rows(chosen: NDArray[np.bool_], *scores: NDArray[np.float64]) -> list[int]:
    """The :data:`LISTED` chosen rows with the lowest first score, lowest first; ties by the next score, then by row.

    Only what can be listed is sorted, because there may be millions of rows.

    >>> first_rows(np.array([True, False, True, True]), np.array([0.5, 0.1, 0.2, 0.5]), np.array([2.0, 0.0, 0.0, 1.0]))
    [2, 3, 0]
    """
    rows = np.flatnonzero(chosen)
    if len(rows) > LISTED:
        least = scores[0][rows]
        rows = rows[least <= np.partition(least, LISTED - 1)[LISTED - 1]]
    order = np.lexsort([score[rows] for score in reversed(scores)])
    return rows[order][:LISTED].tolist()


@dataclass(frozen=True)
class Highlight:
    """A count at the top of the page that links to the section which explains it."""

    count: int
    text: str


def _nothing(labelling: Labelling) -> tuple[()]:
    return ()


@dataclass(frozen=True)
class Section:
    """One section: a labelling in, an HTML fragment out.

    The page wraps the fragment in ``<section id="name">``. A fragment is ``markupsafe.Markup``; a plain string is
    escaped and shown as text, so that a file name can never become HTML. An empty fragment leaves the section out.

    >>> from markupsafe import Markup
    >>> def render(labelling, page):
    ...     return Markup("<h2>Folders</h2><p>{} files</p>").format(len(labelling.files))
    >>> Section("folders", "Folders", render).is_linked
    True
    """

    name: str
    """Lower-case letters, digits and hyphens: the target of the links to it."""
    title: str
    """What the navigation calls it."""
    render: Callable[[Labelling, Page], str]
    """Makes the fragment."""
    pictured: Callable[[Labelling], Sequence[int]] = _nothing
    """The images it shows, by row. They get a thumbnail even if the page shows only a sample of all images."""
    highlights: Callable[[Labelling], Sequence[Highlight]] = _nothing
    """Its counts at the top of the page."""
    is_linked: bool = True
    """Whether the navigation links to it."""
    needs_script: bool = False
    """Whether it is hidden if JavaScript is switched off."""


SECTIONS: dict[str, Section] = {}
"""All sections by name, in the order of the page."""


def register_section(section: Section, *, before: str | None = None) -> Section:
    """Add a section to every report written from now on, and return it.

    It comes last, or before the section named ``before``. A section with the name of an earlier one replaces it.
    """
    if not re.fullmatch(r"[a-z][a-z0-9-]*", section.name):
        raise InvalidInputError(
            f"the name of a section must be lower-case letters, digits and hyphens; got {section.name!r}"
        )
    if before is not None and before not in SECTIONS:
        raise InvalidInputError(f"before must be one of {', '.join(SECTIONS)}; got {before!r}")
    if before is None or before == section.name:
        SECTIONS[section.name] = section  # a section that was there before keeps its place
        return section
    order = [s for s in SECTIONS.values() if s.name != section.name]
    order.insert([s.name for s in order].index(before), section)
    SECTIONS.clear()
    SECTIONS.update({s.name: s for s in order})
    return section
