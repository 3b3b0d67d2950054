"""Images at random: what every other strategy has to beat."""

from __future__ import annotations

import numpy as np

from grande_gnn.labelling.strategies.strategy import Rows, Situation, Strategy

__all__ = ["RANDOM"]


def _choose(situation: Situation, n: int) -> Rows:
    return np.random.default_rng(situation.random_state).permutation(len(situation))


RANDOM = Strategy("random", "Images at random.", _choose)
"""All images in random order."""
