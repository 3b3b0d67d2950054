"""Numbers and names as the page writes them."""

from __future__ import annotations

import re

__all__ = ["beginning", "count", "natural_key", "percent", "short", "whole"]


def count(number: int) -> str:
    """A number with separators between thousands.

    >>> count(20000)
    '20,000'
    """
    return f"{number:,}"


def percent(share: float) -> str:
    """A share with one decimal and a space that does not break: 0.8731 is ``87.3 %``."""
    return f"{100 * share:.1f}\u00a0%"


def whole(share: float) -> str:
    """A share in whole percent; only a share of exactly 1 is written as ``100 %``."""
    if 0.995 <= share < 1:
        return ">\u00a099\u00a0%"
    return f"{100 * share:.0f}\u00a0%"


def short(text: str, length: int = 48) -> str:
    """At most ``length`` characters of a name, cut in its middle because the end of a path says most.

    >>> short("photos/holidays/summer.jpg", 16)
    'photo…summer.jpg'
    """
    if len(text) <= length:
        return text
    return f"{text[: length // 3]}…{text[-(length - length // 3 - 1) :]}"


def beginning(text: str, length: int) -> str:
    """The first characters of a text in one line, cut at a word if possible.

    >>> beginning("A fox\\n jumps over", 9)
    'A fox…'
    """
    line = " ".join(text[: 4 * length].split())
    if len(line) <= length:
        return line
    cut = line[:length]
    return (cut[: cut.rindex(" ")] if " " in cut[length // 2 :] else cut) + "…"


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """A sort key that reads runs of digits as numbers.

    >>> sorted(["b10", "10", "9", "b2"], key=natural_key)
    ['9', '10', 'b2', 'b10']
    """
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), "") if part[0] in "0123456789" else (1, 0, part.casefold()) for part in parts]
