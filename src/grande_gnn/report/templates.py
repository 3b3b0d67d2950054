"""The HTML templates in ``assets/templates/``: every value is escaped unless it is ``Markup`` already."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grande_gnn.report import formats

__all__ = ["asset", "json_markup", "render_template"]


def asset(name: str) -> str:
    """The text of a file in ``assets/``."""
    return files("grande_gnn.report").joinpath("assets", name).read_text(encoding="utf-8")


def json_markup(data: dict[str, object]) -> Markup:
    """JSON that may appear inside a script element: no character in it can end the element.

    >>> json_markup({"file": "</script>"})
    Markup('{"file":"\\\\u003c/script\\\\u003e"}')
    """
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def render_template(name: str, **values: object) -> Markup:
    """Fill in the template ``assets/templates/<name>.html``; a name it uses but does not get is an error."""
    return Markup(_environment().get_template(f"{name}.html").render(**values))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grande_gnn.report", "assets/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(formats, name) for name in ("count", "percent", "short", "whole")}
    return environment
