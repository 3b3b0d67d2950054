"""Write the report: one HTML file that needs no server, no network and no other file."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

from markupsafe import Markup

from grande_gnn import __version__
from grande_gnn.internal.files import write_atomically
from grande_gnn.labelling.result import Labelling
from grande_gnn.report.checks import check_labelling
from grande_gnn.report.page import Page
from grande_gnn.report.sections import SECTIONS
from grande_gnn.report.sprites import Sheets, sprite_sheets
from grande_gnn.report.templates import asset, json_markup

__all__ = ["render_report", "write_report"]

_SHEET_BYTES = 25_000_000
"""Budget of all sheets together: base64 adds a third, which leaves room for the data of a 40 MB page."""


def write_report(
    labelling: Labelling,
    path: str | os.PathLike[str],
    *,
    image_root: str = "",
    random_state: int = 0,
) -> Path:
    """Write the report of a labelling as one HTML file; the file appears whole or not at all.

    Parameters
    ----------
    labelling : what to show. Without ``neighbors`` the page has neither a map nor similar images; without
        ``thumbnails`` it has no pictures.
    path : the file to write; an existing one is replaced.
    image_root : path from the report to the images (``"../photos"``); the page then links to them.
    random_state : seed of the map and, above 20,000 images, of the sample that is shown.
    """
    page = render_report(labelling, image_root=image_root, random_state=random_state)
    write_atomically(path, lambda file: file.write(page.encode()))
    return Path(path)


def render_report(labelling: Labelling, *, image_root: str = "", random_state: int = 0) -> str:
    """The page as text; see :func:`write_report`. The same labelling gives the same text."""
    check_labelling(labelling)
    page = Page(labelling, SECTIONS.values(), image_root=image_root, random_state=random_state)
    fragments = [(section, section.render(labelling, page)) for section in page.sections]
    sheets = _sheets(page)
    script = asset("page.js") + asset("map.js")
    text = page.render(
        "page",
        fragments=[(section, fragment) for section, fragment in fragments if fragment],
        version=__version__,
        style=Markup(asset("report.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=json_markup(_data(page, sheets)),
        sheets=[Markup(base64.b64encode(jpeg).decode("ascii")) for jpeg in sheets.jpegs],
    )
    # File names that are not valid UTF-8 arrive with lone surrogates, which no file can hold.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _sheets(page: Page) -> Sheets:
    if page.labelling.thumbnails is None:
        return Sheets([], 64, 16)
    n = len(page.shown)
    images = page.labelling.thumbnails(page.shown.tolist())
    return sprite_sheets(images, cell=96 if n <= 5000 else 64, bytes_per_image=_SHEET_BYTES / n)


def _data(page: Page, sheets: Sheets) -> dict[str, object]:
    """What the page's script needs to show thumbnails and labels; the map has data of its own."""
    colors = list(page.colors.values())
    code = {name: i for i, name in enumerate(page.classes)} | {"": -1}
    labelling = page.labelling
    return {
        "things": page.things,
        "classes": page.classes,
        "light": [light for light, _ in colors],
        "dark": [dark for _, dark in colors],
        "files": [labelling.files[row] for row in page.shown],
        "label": [code[labelling.labels[row]] for row in page.shown],
        "given": [code[labelling.given[row]] for row in page.shown],
        "texts": [page.excerpt(row, 400) for row in page.shown] if page.has_texts else [],
        "cell": sheets.cell,
        "columns": sheets.columns,
        "sheets": len(sheets.jpegs),
    }
