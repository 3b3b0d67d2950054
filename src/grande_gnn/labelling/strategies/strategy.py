"""What a strategy is (it chooses the images to label next), and the registry of all strategies.

To add one, write a function ``(situation, n) -> rows`` and pass it to :func:`register_strategy`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from grande_gnn.graph import Neighbors

__all__ = ["STRATEGIES", "Rows", "Situation", "Strategy", "register_strategy"]

Rows = NDArray[np.int64]
"""Numbers of images, the most useful first."""


@dataclass(frozen=True, eq=False)
class Situation:
    """What is known when somebody asks which images to label next."""

    neighbors: Neighbors
    """The images' features, normalized, and their ranked lists."""
    known: NDArray[np.bool_]
    """Which images are labelled."""
    n_classes: int = 0
    """How many classes were seen so far; 0 if none."""
    margin: NDArray[np.float64] | None = None
    """For each image how sure its present label is: the lead over the runner-up; None if nothing was trained yet."""
    random_state: int = 0
    """Seed of strategies that draw random numbers."""

    def __len__(self) -> int:
        return len(self.known)


@dataclass(frozen=True)
class Strategy:
    """A way to choose images: its name, one line about it, and the choice.

    ``choose(situation, n)`` returns rows, the most useful first, among them at least ``n`` that have no label if there
    are that many; the caller drops rows that are labelled.
    """

    name: str
    about: str
    choose: Callable[[Situation, int], Rows]


STRATEGIES: dict[str, Strategy] = {}
"""Every strategy by name."""


def register_strategy(strategy: Strategy) -> Strategy:
    """Add a strategy; one of the same name is replaced."""
    STRATEGIES[strategy.name] = strategy
    return strategy
