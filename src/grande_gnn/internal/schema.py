"""What a file must hold, declared as data: each declaration is a check that raises one sentence.

>>> check = record({"sigma": number(0, 10), "name": text()}, optional={"name"})
>>> check({"sigma": 0.2}, "settings")
>>> check({"sigma": -1}, "settings")
Traceback (most recent call last):
    ...
grande_gnn.errors.InvalidInputError: settings.sigma must be a number in [0, 10]; got -1
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError

__all__ = [
    "Check", "anything", "check_array", "either", "flag", "integer", "list_of", "mapping_of", "number", "only", "optional",
    "record", "text",
]  # fmt: skip

Check = Callable[[Any, str], None]
"""Called with a value and the place where it was found; raises :class:`InvalidInputError` if it does not fit."""

MAX_TEXT = 32768
"""Longest text in a file; paths are at most 4096 bytes long on Linux and 32767 on Windows."""


def _refuse(place: str, what: str, value: Any) -> None:
    shown = repr(value) if isinstance(value, (int, float, str, type(None))) else f"a {type(value).__name__}"
    raise InvalidInputError(f"{place} must be {what}; got {shown[:80]}")


def anything(value: Any, place: str) -> None:
    """A value that nobody reads."""


def number(low: float = -math.inf, high: float = math.inf, *, open_low: bool = False) -> Check:
    """A finite number in [low, high], or (low, high] with ``open_low``."""

    def check(value: Any, place: str) -> None:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not low <= value <= high or (open_low and value == low) or math.isinf(value):
            _refuse(place, f"a number in {'(' if open_low else '['}{low:g}, {high:g}]", value)

    return check


def integer(low: int, high: int) -> Check:
    """An integer in [low, high]."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            _refuse(place, f"an integer from {low} to {high}", value)

    return check


def text(pattern: str = "", *, max_length: int = MAX_TEXT, surrogates: bool = False) -> Check:
    """A text, which matches ``pattern`` as a whole if one is given.

    ``surrogates`` allows the half characters by which Python represents file names that are not Unicode; they cannot be
    written to other files.
    """

    def check(value: Any, place: str) -> None:
        if not isinstance(value, str) or len(value) > max_length:
            _refuse(place, f"a text of at most {max_length} characters", value)
        if pattern and not re.fullmatch(pattern, value):
            _refuse(place, f"a text of the form {pattern}", value)
        if not surrogates and any("\ud800" <= c <= "\udfff" for c in value):
            _refuse(place, "a text in Unicode", ascii(value))

    return check


def flag(value: Any, place: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        _refuse(place, "true or false", value)


def only(expected: Any) -> Check:
    """Exactly this value."""

    def check(value: Any, place: str) -> None:
        if type(value) is not type(expected) or value != expected:
            _refuse(place, repr(expected), value)

    return check


def optional(check: Check) -> Check:
    """Null, or what ``check`` accepts."""
    return lambda value, place: None if value is None else check(value, place)


def either(*checks: Check) -> Check:
    """What one of the checks accepts; the last one gives the sentence."""

    def check(value: Any, place: str) -> None:
        for attempt in checks[:-1]:
            try:
                return attempt(value, place)
            except InvalidInputError:
                continue
        return checks[-1](value, place)

    return check


def list_of(item: Check, *, low: int = 0, high: int = 10_000_000) -> Check:
    """A list of ``low`` to ``high`` items."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list) or not low <= len(value) <= high:
            _refuse(place, f"a list of {low} to {high} items", value)
        for position, entry in enumerate(value):
            item(entry, f"{place}[{position}]")

    return check


def mapping_of(item: Check) -> Check:
    """An object with any names, whose values fit ``item``."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            _refuse(place, "an object", value)
        for name, entry in value.items():
            item(entry, f"{place}.{' '.join(name.split())[:80]}")

    return check


def record(fields: Mapping[str, Check], *, optional: Collection[str] = (), more: bool = False) -> Check:
    """An object with these fields; those in ``optional`` may be missing, and only ``more`` allows others."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            _refuse(place, "an object", value)
        for name in fields:
            if name in value:
                fields[name](value[name], f"{place}.{name}")
            elif name not in optional:
                raise InvalidInputError(f"{place} needs the field {name!r}; got {_names(value)}")
        unknown = [] if more else [name for name in value if name not in fields]
        if unknown:
            raise InvalidInputError(f"{place} must not have unknown fields; got {unknown[0][:80]!r}")

    return check


def _names(value: dict[str, Any]) -> str:
    return " ".join(", ".join(value).split())[:200] or "no field"


def check_array(
    array: NDArray[Any],
    name: str,
    kinds: str,
    shape: tuple[int | None, ...],
    low: float | None = None,
    high: float | None = None,
) -> None:
    """Refuse an array unless its dtype's kind is among ``kinds``, its shape fits, and its numbers are finite and in range.

    ``None`` in ``shape`` stands for any length.
    """
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        raise InvalidInputError(f"{name} must be numbers of kind {kinds}; got {array.dtype}")
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, got) for wanted, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = tuple("any" if length is None else length for length in shape)
        raise InvalidInputError(f"{name} must have the shape {wanted}; got {array.shape}")
    if not array.size:
        return
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be finite; got NaN or infinity")
    if low is None and high is None:
        return
    smallest, largest = array.min(), array.max()
    if (low is not None and smallest < low) or (high is not None and largest > high):
        raise InvalidInputError(f"{name} must be in [{low}, {high}]; got {smallest} to {largest}")
