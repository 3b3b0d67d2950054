"""Write the report: one HTML file that needs no server, no network and no other file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray
from PIL import Image

from grande_gnn import __version__
from grande_gnn.internal.files import write_atomically
from grande_gnn.report.content import ReportContent
from grande_gnn.report.page import build_page
from grande_gnn.report.sprites import Sheets, sprite_sheets

__all__ = ["Thumbnails", "render_report", "write_report"]

Thumbnails = Callable[[Sequence[int]], Iterable[Image.Image | NDArray[Any] | None]]
"""Given row numbers, yields a picture of each in that order, best of 96 pixels or more; None = none."""

_SHEET_BYTES = 25_000_000
"""All sheets together: a third more in base64, which leaves a 40 MB page room for its data."""


def write_report(
    content: ReportContent,
    path: str | os.PathLike[str],
    thumbnails: Thumbnails | None = None,
    *,
    random_state: int = 0,
) -> Path:
    """Write ``content`` as one HTML file; the file appears whole or not at all.

    Parameters
    ----------
    content : what to show.
    path : the file to write; an existing one is replaced.
    thumbnails : called once with the row numbers to picture. Without it the page has no pictures.
    random_state : seed of the map's layout and, above 20,000 images, of the sample shown.
    """
    page = render_report(content, thumbnails, random_state=random_state)
    write_atomically(path, lambda file: file.write(page.encode()))
    return Path(path)


def render_report(
    content: ReportContent, thumbnails: Thumbnails | None = None, *, random_state: int = 0
) -> str:
    """The page as text; see :func:`write_report`. The same content gives the same text."""
    page = build_page(content, random_state=random_state)
    sheets = _sheets(thumbnails, page.shown)
    script = _asset("page.js") + _asset("map.js")
    data = page.data | {"cell": sheets.cell, "columns": sheets.columns, "sheets": len(sheets.jpegs)}
    template = _environment().from_string(_asset("template.html"))
    text = template.render(
        **page.context,
        version=__version__,
        pictures=bool(sheets.jpegs),
        style=Markup(_asset("report.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=_json(data),
        sheets=[Markup(base64.b64encode(jpeg).decode("ascii")) for jpeg in sheets.jpegs],
    )
    # File names that are not valid UTF-8 arrive with lone surrogates, which no file can hold.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _sheets(thumbnails: Thumbnails | None, shown: NDArray[np.int64]) -> Sheets:
    if thumbnails is None:
        return Sheets([], 64, 16)
    cell = 96 if len(shown) <= 5000 else 64
    return sprite_sheets(thumbnails(shown.tolist()), cell=cell, bytes_per_image=_SHEET_BYTES / len(shown))


def _json(data: dict[str, Any]) -> Markup:
    """JSON that may stand inside a script element: no character of it can end the element."""
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _asset(name: str) -> str:
    return files("grande_gnn.report").joinpath(name).read_text(encoding="utf-8")


def _environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"count": _count, "percent": _percent, "whole": _whole, "short": _short}
    return environment


def _count(number: int) -> str:
    return f"{number:,}"


def _percent(share: float) -> str:
    """A share with one decimal: 0.8731 is ``87.3 %``, with a space that does not break."""
    return f"{100 * share:.1f}\u00a0%"


def _whole(share: float) -> str:
    """A share in whole per cent; only certainty itself is 100 %."""
    if 0.995 <= share < 1:
        return ">\u00a099\u00a0%"
    return f"{100 * share:.0f}\u00a0%"


def _short(text: str, length: int = 48) -> str:
    """A long name without its middle: the end of a path says most."""
    if len(text) <= length:
        return text
    return f"{text[: length // 3]}…{text[-(length - length // 3 - 1) :]}"
