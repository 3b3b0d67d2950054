"""What a command prints: names of another's choosing cannot control the terminal, and a warning is one sentence."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

__all__ = ["plain", "plain_output"]

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"}
"""Characters that a terminal may obey: they move the cursor, change the title or the keys."""


def plain(text: str) -> str:
    r"""The text with control characters as ``\x1b``.

    >>> plain("red \x1b[31m")
    'red \\x1b[31m'
    """
    return text.translate(_CONTROL)


class _Plain:
    """A stream that writes texts without control characters and is the given one in all other ways."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(plain(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def plain_output() -> Iterator[None]:
    """Inside the block, whatever is printed is plain, and warnings for users have no line of code."""
    streams, show = (sys.stdout, sys.stderr), warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category is UserWarning:
            click.echo(f"Warning: {message}", err=True)
        else:
            show(message, category, *place, **more)

    sys.stdout, sys.stderr = (stream and _Plain(stream) for stream in streams)  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = tell
            yield
    finally:
        sys.stdout, sys.stderr = streams
