"""Pictures of texts for the page: SVG files with the text in lines, where images would be shown.

Everything on the page that shows a picture of a sample (queues, gallery, map, zoom, neighbors) then works for texts too, in
whatever script, with the fonts of the browser.
"""

from __future__ import annotations

import unicodedata
from xml.sax.saxutils import escape

__all__ = ["TEXT_SIZES", "text_svg", "wrapped"]

TEXT_SIZES = {"thumb": (224, 224, 13), "picture": (900, 560, 21), "full": (900, 0, 21)}
"""Width, largest height and font size of each kind of picture; a height of 0 is as high as the text."""

_MOST_LINES = 2000
_GAP = 1.35
"""Distance between lines in font sizes."""
_CHARACTER = 0.52
"""Mean width of a Latin character in font sizes; East Asian ones are twice as wide."""


def text_svg(text: str, kind: str) -> bytes:
    """The picture of a text: its beginning, or all of it."""
    width, height, size = TEXT_SIZES[kind]
    pad, step = size, _GAP * size
    lines = wrapped(text, round((width - 2 * pad) / (_CHARACTER * size)), _MOST_LINES)
    if height:
        fit = int((height - 2 * pad) / step)
        lines = lines if len(lines) <= fit else [*lines[: fit - 1], lines[fit - 1] + "…"]
    if kind != "thumb":  # thumbs are squares; the others are as high as their text
        height = round(2 * pad + step * len(lines))
    rows = "".join(
        f'<text x="{pad}" y="{pad + size + step * i:.1f}">{escape(line)}</text>'
        for i, line in enumerate(lines)
        if line
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<rect width="100%" height="100%" fill="#fffdf7"/>'
        f'<g font-family="sans-serif" font-size="{size}" fill="#1d1d1b" xml:space="preserve">{rows}</g></svg>'
    )
    return svg.encode("utf-8")


def wrapped(text: str, width: int, most: int) -> list[str]:
    """The lines of a text, none wider than ``width`` Latin characters, and at most ``most`` of them.

    >>> wrapped("one two three", 7, 9), wrapped("日本語", 4, 9)
    (['one two', 'three'], ['日本', '語'])
    """
    lines: list[str] = []
    for paragraph in _printable(text).split("\n"):
        line, used = "", 0
        for word in paragraph.split():
            pieces = _pieces(word, width)
            for i, (piece, wide) in enumerate(pieces):
                space = 1 if line and i == 0 else 0
                if line and used + space + wide > width:
                    lines.append(line)
                    line, used, space = "", 0, 0
                line, used = line + " " * space + piece, used + space + wide
        lines.append(line)
        if len(lines) >= most:
            return lines[:most]
    return lines


def _pieces(word: str, width: int) -> list[tuple[str, int]]:
    """A word in parts that fit a line, with their widths."""
    found, piece, used = [], "", 0
    for character in word:
        wide = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if piece and used + wide > width:
            found.append((piece, used))
            piece, used = "", 0
        piece, used = piece + character, used + wide
    return [*found, (piece, used)]


def _printable(text: str) -> str:
    """The text without the characters that XML cannot hold."""
    return "".join(
        c
        if c == "\n" or (ord(c) >= 32 and not 0xD800 <= ord(c) <= 0xDFFF and ord(c) not in (0xFFFE, 0xFFFF))
        else " "
        for c in text
    )
