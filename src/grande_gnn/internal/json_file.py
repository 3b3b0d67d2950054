"""JSON that somebody else may have written: bounded in size and depth, without repeated keys or numbers out of range.

Python's reader takes the last of two equal keys, turns ``1e999`` into infinity, accepts ``NaN`` and recurses as deep as
the text does. Here each of these is refused with a sentence.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

from grande_gnn.errors import FileFormatError, InvalidInputError

__all__ = ["MAX_BYTES", "MAX_DEPTH", "json_lines", "parse_json", "read_json"]

MAX_BYTES = 64 << 20
"""Largest JSON document that is read; the settings and models of this package need a few kilobytes."""

MAX_DEPTH = 32
"""Deepest nesting of lists and objects; this package writes four levels."""

_LARGEST_INTEGER = 1 << 64

_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
"""A string, which may hold brackets of its own and is skipped, or a bracket."""


def parse_json(data: bytes | str, *, allow_nan: bool = False) -> Any:
    """The value of a JSON text; raises :class:`InvalidInputError` if it is not JSON or exceeds a limit.

    ``allow_nan`` accepts the literal ``NaN``, which version 0.1 wrote; infinity is always refused.

    >>> parse_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    """
    if len(data) > MAX_BYTES:
        raise InvalidInputError(f"JSON must be smaller than {MAX_BYTES >> 20} MiB; got {len(data)} bytes")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        _check_depth(text)
        return json.loads(
            text, object_pairs_hook=_object, parse_float=_real, parse_int=_integer,
            parse_constant=_not_a_number if allow_nan else _refuse_constant,
        )  # fmt: skip
    except InvalidInputError:
        raise
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise InvalidInputError(f"not JSON; got {' '.join(str(error).split())[:200]}") from None


def read_json(path: str | os.PathLike[str]) -> Any:
    """The value in a JSON file; a file that is missing raises :class:`FileNotFoundError`."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise FileFormatError(
                f"{path}: JSON must be smaller than {MAX_BYTES >> 20} MiB; got {size} bytes"
            )
        data = file.read(MAX_BYTES + 1)
    try:
        return parse_json(data)
    except InvalidInputError as error:
        raise FileFormatError(f"{path}: {error}") from None


def json_lines(data: bytes, path: str | Path, *, allow_nan: bool = False) -> list[Any]:
    """The value of each line of a JSON Lines file, whose last line ends in a newline like all others.

    An error names the line. The caller first removes a last line that a kill cut short.
    """
    values = []
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            values.append(parse_json(line, allow_nan=allow_nan))
        except InvalidInputError as error:
            raise FileFormatError(f"{path}, line {number}: {error}") from None
    return values


def _check_depth(text: str) -> None:
    """Refuse deep nesting before a recursive reader sees it; most texts have too few brackets to be deep."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET.finditer(text):
        found = match.group()
        depth += (found in "[{") - (found in "]}")
        if depth > MAX_DEPTH:
            raise InvalidInputError(f"JSON must be nested at most {MAX_DEPTH} levels deep; got more")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"a JSON object must not name a field twice; got {twice[:80]!r} again")
    return content


def _real(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InvalidInputError(f"JSON must hold finite numbers; got {text[:40]}")
    return number


def _integer(text: str) -> int:
    number = int(text) if len(text) < 40 else _LARGEST_INTEGER
    if abs(number) >= _LARGEST_INTEGER:
        raise InvalidInputError(f"JSON must hold integers below 2 to the 64th; got {text[:40]}")
    return number


def _not_a_number(name: str) -> float:
    return math.nan if name == "NaN" else _refuse_constant(name)


def _refuse_constant(name: str) -> float:
    raise InvalidInputError(f"JSON must hold finite numbers; got {name}")
