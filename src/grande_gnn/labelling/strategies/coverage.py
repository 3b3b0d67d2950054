"""Graph coverage: label the images from which the graph carries labels to most others.

A label spreads over the graph, so image i covers itself and its reciprocal neighbors: the images j that are in its ranked
list and have it in theirs. The choice is greedy (:mod:`~grande_gnn.labelling.strategies.greedy`), and what is covered once
keeps a tenth of its weight, so a large group gets its second label after small groups had their first. An outlier is
nobody's reciprocal neighbor, covers only itself, and comes last. It is ProbCover
(:mod:`~grande_gnn.labelling.strategies.probcover`) with neighborhoods of the graph in place of balls: there is no radius
to choose, and dense and sparse regions are treated alike.
"""

from __future__ import annotations

import numpy as np

from grande_gnn.graph import reciprocal_edges
from grande_gnn.labelling.strategies.greedy import greedy_cover
from grande_gnn.labelling.strategies.strategy import Rows, Situation, Strategy

__all__ = ["GRAPH_COVERAGE"]

N_NEIGHBORS = 25
"""Length of the ranked lists, the image itself included; how it was chosen is in docs/suggest.md."""

FADING = 0.1
"""What is left of an image's weight when it is covered."""


def _choose(situation: Situation, n: int) -> Rows:
    length = min(N_NEIGHBORS, max(2, len(situation) // 3))  # else each of a few images would cover all
    covers = reciprocal_edges(situation.neighbors.lists(length), length).to_scipy(float)
    return greedy_cover(covers, np.ones(len(situation)), situation.known, fading=FADING, n=n)


GRAPH_COVERAGE = Strategy(
    "graph-coverage", "Images from which labels reach most others through the graph.", _choose
)
"""Reciprocal neighborhoods."""
