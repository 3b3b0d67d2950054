"""The settings of the run."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Section

__all__ = ["SETTINGS_TABLE"]

_HIDDEN = ("weights", "temperature", "offset", "slope")
"""Settings that only a later run needs; they are in ``settings.json``."""

_OF_BUILT_GRAPHS = ("graph", "n_neighbors", "members")


def _render(labelling: Labelling, page: Page) -> Markup:
    shown = {name: value for name, value in labelling.settings.items() if name not in _HIDDEN}
    if shown.get("graph_file"):  # it replaces the graph that would have been built
        shown = {name: value for name, value in shown.items() if name not in _OF_BUILT_GRAPHS}
    if "members" in shown:
        shown["members"] = _spelled(shown["members"])
    return page.render("settings_table", settings=shown)


def _spelled(members: Any) -> str:
    """The members of a committee with their weights, as one line."""
    return ", ".join(
        f"{member['graph']} {member.get('n_neighbors', '')} ({member['weight']:.2f})"
        if member["graph"] is not None
        else f"logistic regression ({member['weight']:.2f})"
        for member in members
    )


SETTINGS_TABLE = Section("settings", "Settings", _render)
"""The settings, in the order in which they were recorded."""
