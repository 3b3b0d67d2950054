"""Strategies that choose which images to label next, one file per idea, behind one registry."""

from grande_gnn.labelling.strategies.chance import RANDOM
from grande_gnn.labelling.strategies.clusters import KMEANS, TYPICLUST
from grande_gnn.labelling.strategies.coverage import GRAPH_COVERAGE
from grande_gnn.labelling.strategies.probcover import PROBCOVER
from grande_gnn.labelling.strategies.strategy import STRATEGIES, Situation, Strategy, register_strategy
from grande_gnn.labelling.strategies.uncertain import MARGIN, USEFUL

__all__ = ["STRATEGIES", "Situation", "Strategy", "register_strategy"]

for _strategy in (USEFUL, GRAPH_COVERAGE, PROBCOVER, TYPICLUST, KMEANS, MARGIN, RANDOM):
    register_strategy(_strategy)
