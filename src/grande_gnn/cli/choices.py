"""Types of options: choices that are read from a registry when a command runs, and paths that are not empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

__all__ = ["AutoOr", "ChoiceOf", "FormOfAdapting", "Place"]


class ChoiceOf(click.Choice):
    """One of the names that a function returns.

    >>> registry = {"one": 1}
    >>> choice = ChoiceOf(lambda: registry)
    >>> registry["two"] = 2
    >>> choice.convert("two", None, None)
    'two'
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        super().__init__([])

    @property  # type: ignore[override]
    def choices(self) -> tuple[str, ...]:
        """The names there are now."""
        return tuple(self._names())

    @choices.setter
    def choices(self, value: object) -> None:
        """click stores the names it was given, which are none."""


class FormOfAdapting(click.Choice):
    """What may follow ``--adapt``. The option takes the next word, which may be the folder of images."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """The message for a word that is no form."""
        wrong = super().get_invalid_choice_message(value, ctx)
        return f"{wrong} To let it choose the form, write --adapt at the end, or --adapt=auto."


class AutoOr(click.ParamType):
    """``auto``, or whatever another type makes of the value."""

    def __init__(self, other: Any) -> None:
        self.other = click.types.convert_type(other)
        self.name = f"auto|{self.other.name}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "auto" else self.other.convert(value, param, ctx)


class Place(click.Path):
    """A path; an empty one is refused, because it would mean the present folder, and most likely a variable is not set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path as the type that was asked for."""
        if value == "":
            self.fail("a path must not be empty: is a variable of the shell not set?", param, ctx)
        return super().convert(value, param, ctx)
