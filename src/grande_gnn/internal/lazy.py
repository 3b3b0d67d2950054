"""Packages whose names are imported when they are first used, so that ``grande --help`` answers at once (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from grande_gnn.internal.moved import moved_name

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose public names live in the modules ``homes`` maps them to.

    Names that the package exported in version 0.1 still work, with a DeprecationWarning.
    """

    def get(name: str) -> Any:
        if name not in homes:
            return moved_name(package, name)
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes)
