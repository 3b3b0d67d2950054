"""The degrees by name: one registry for the classifier, the experiments and the command line.

Importing it does not import torch; a degree itself (:mod:`grande_gnn.degree`) is made when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grande_gnn.degree import Degree
    from grande_gnn.engine.replica import DegreeFunction

__all__ = ["DEGREES", "as_degree", "register_degree"]


def _grande(sigma: float) -> Degree:
    from grande_gnn.degree import Grande

    return Grande(sigma)


def _centrality(sigma: float) -> Degree:
    from grande_gnn.degree import Centrality

    return Centrality()


DEGREES: dict[str, Callable[[float], Degree]] = {"grande": _grande, "centrality": _centrality}
"""For each name, a function that makes the degree from σ; degrees that have no σ ignore it."""


def register_degree(name: str, factory: Callable[[float], Degree]) -> None:
    """Register the degree that ``factory`` makes from σ under ``name``; an earlier degree of this name is replaced."""
    DEGREES[name] = factory


def as_degree(degree: str | Degree | DegreeFunction, sigma: float = 0.2) -> Degree:
    """The degree object for a registered name (with ``sigma``), a degree object, or a function (h, graph) → δ.

    >>> as_degree("grande", 0.5)
    Grande(sigma=0.5)
    """
    from grande_gnn.degree import Custom, Degree
    from grande_gnn.internal.validation import check_choice

    if isinstance(degree, Degree):
        return degree
    if callable(degree):
        return Custom(degree)
    return DEGREES[check_choice(degree, DEGREES, name="degree")](sigma)
