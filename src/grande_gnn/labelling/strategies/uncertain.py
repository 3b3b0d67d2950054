"""Uncertain images, whose label has a small lead over the runner-up, and when to prefer them to typical ones.

While labels are few, a model does not know what it does not know, and its uncertain images are outliers and mixtures; labels
of typical images in uncovered regions help more. When every class has some labels, the images near the borders between
classes help more. They are spread out: an image next to one that is chosen already would add little.
"""

from __future__ import annotations

import numpy as np

from grande_gnn.graph import reciprocal_edges
from grande_gnn.labelling.strategies.chance import RANDOM
from grande_gnn.labelling.strategies.coverage import GRAPH_COVERAGE
from grande_gnn.labelling.strategies.strategy import Rows, Situation, Strategy

__all__ = ["ENOUGH_LABELS", "MARGIN", "USEFUL"]

ENOUGH_LABELS = 4
"""With this many labels per class, uncertain images are worth more than typical ones."""

N_NEIGHBORS = 10
"""Length of the ranked lists that say which images are next to a chosen one."""

FADING = 0.5
"""What is left of the uncertainty next to a chosen image."""


def _by_margin(situation: Situation, n: int) -> Rows:
    if situation.margin is None:
        return RANDOM.choose(situation, n)
    rows = np.flatnonzero(~situation.known)
    return rows[np.argsort(situation.margin[rows], kind="stable")]


def _spread_out(situation: Situation, n: int) -> Rows:
    """The least sure image again and again; around each that is chosen, uncertainty counts half."""
    assert situation.margin is not None
    graph = reciprocal_edges(situation.neighbors.lists(N_NEIGHBORS), N_NEIGHBORS)
    unsure = np.where(situation.known, -np.inf, np.clip(1 - situation.margin, 0.0, 1.0))
    order = []
    for _ in range(n):
        best = int(unsure.argmax())
        order.append(best)
        unsure[graph.indices[graph.indptr[best] : graph.indptr[best + 1]]] *= FADING
        unsure[best] = -np.inf
    others = np.setdiff1d(np.flatnonzero(~situation.known), order)
    last = others[np.argsort(-unsure[others], kind="stable")]
    return np.concatenate([np.array(order, dtype=np.int64), last])


def _useful(situation: Situation, n: int) -> Rows:
    enough = ENOUGH_LABELS * max(situation.n_classes, 2)
    if situation.margin is None or situation.known.sum() < enough:
        return GRAPH_COVERAGE.choose(situation, n)
    return _spread_out(situation, n)


MARGIN = Strategy("margin", "The images with the smallest lead of the label over the runner-up.", _by_margin)
"""Smallest margin first."""

USEFUL = Strategy(
    "useful", "Typical images of uncovered regions while labels are few, then uncertain ones.", _useful
)
"""Coverage first, uncertainty later."""
