"""The degrees by name: one registry for the classifier, the experiments and the command line.

Importing it does not import torch; a degree itself (:mod:`grande_gnn.degree`) is made when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from grande_gnn.degree import Degree
    from grande_gnn.engine.replica import DegreeFunction

__all__ = ["DEGREES", "as_degree", "check_delta", "is_registered", "register_degree"]


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


def is_registered(degree: Degree) -> bool:
    """Whether a file that holds the name and σ of a degree gives this degree again.

    A class of your own may have the name of another degree, or parameters that its factory does not set.
    """
    if degree.name not in DEGREES:
        return False
    made = DEGREES[degree.name](0.2 if degree.sigma is None else degree.sigma)
    return type(made) is type(degree) and (made == degree or vars(made) == vars(degree))


def check_delta(delta: object, h: Tensor, *, values: bool = True) -> Tensor:
    """What a degree function returned for the nodes of ``h``, in its precision; one positive number per node, or an error.

    Looking at the values makes the CPU wait for a GPU; without ``values``, only the form is checked.
    """
    from torch import Tensor

    from grande_gnn.errors import InvalidInputError

    if isinstance(delta, Tensor) and delta.shape == (len(h),):
        if not values or bool((delta > 0).all()):
            return delta.to(h)
        got = f"smallest value {delta.min().item():g}"
    else:
        got = f"{type(delta).__name__} {delta}"
    raise InvalidInputError(
        "a degree function must return one positive number per node, as a tensor of shape "
        f"({len(h)},); got {' '.join(got.split())[:80]}"
    )
