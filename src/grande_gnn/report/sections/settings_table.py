"""What the run used."""

from __future__ import annotations

from markupsafe import Markup

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Section

__all__ = ["SETTINGS_TABLE"]

_HIDDEN = ("weights", "temperature", "offset")
"""Settings that only a later run needs; they are in ``settings.json``."""


def _render(labelling: Labelling, page: Page) -> Markup:
    shown = {name: value for name, value in labelling.settings.items() if name not in _HIDDEN}
    return page.render("settings_table", settings=shown)


SETTINGS_TABLE = Section("settings", "Settings", _render)
"""The settings, in the order in which they were recorded."""
