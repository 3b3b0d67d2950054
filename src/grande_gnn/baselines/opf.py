"""Optimum-path forest, supervised and semi-supervised.

The prototypes are the two ends of each edge between two classes in the minimum spanning tree of the labelled samples.
The cost of a path is its longest edge, and each sample takes the label of the prototype that reaches it at the lowest cost:

    cost(t) = min over s of max(cost(s), d(s, t)),        cost(prototype) = 0

Such minimax paths lie in the minimum spanning tree, so one tree gives every cost exactly. Only the *order* of the
distances matters, so squared Euclidean distances are enough.

Papa, Falcão, Suzuki: Supervised pattern classification based on optimum-path forest, 2009.
Amorim, Falcão, Carvalho: Semi-supervised pattern classification using optimum-path forest, 2014.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.internal.validation import UNLABELLED

__all__ = ["OPF", "Forest", "OPFSemi", "Tree", "conquer", "prototypes", "spanning_tree"]

_BLOCK_BYTES = 2**30
"""Working memory for distances: if the matrix needs more, the tree computes one row at a time."""


def _squared_distances(A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
    """‖a − b‖² of every pair, in float64."""
    scale = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)
    squared = scale - 2 * (A @ B.T)
    # A distance below the rounding error of this expansion means that two samples are equal: it is set to 0.
    squared[squared < 1e-13 * scale] = 0.0
    return squared


class Tree(NamedTuple):
    """A minimum spanning tree: edge ``e`` joins ``parent[e]`` and ``child[e]`` at ``weight[e]``."""

    parent: NDArray[np.int64]
    child: NDArray[np.int64]
    weight: NDArray[np.float64]


def spanning_tree(X: NDArray[np.float32]) -> Tree:
    """Prim's minimum spanning tree of the complete Euclidean graph; weights are squared distances.

    >>> spanning_tree(np.array([[0.0], [3.0], [1.0]], dtype=np.float32)).weight.tolist()
    [1.0, 4.0]
    """
    n = len(X)
    exact = X.astype(np.float64)
    matrix = _squared_distances(exact, exact) if n * n * 24 <= _BLOCK_BYTES else None
    parent, child, weight = np.zeros(n - 1, np.int64), np.zeros(n - 1, np.int64), np.zeros(n - 1)
    best, via = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    outside = np.ones(n, dtype=bool)
    current = 0
    for edge in range(n - 1):
        outside[current] = False
        best[current] = np.inf
        row = matrix[current] if matrix is not None else _squared_distances(exact[[current]], exact)[0]
        nearer = outside & (row < best)
        best[nearer] = row[nearer]
        via[nearer] = current
        current = int(best.argmin())
        parent[edge], child[edge], weight[edge] = via[current], current, best[current]
    return Tree(parent, child, weight)


def prototypes(tree: Tree, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark both ends of the edges that join two classes; with a single class, its first sample."""
    joins = codes[tree.parent] != codes[tree.child]
    marked = np.zeros(len(codes), dtype=bool)
    marked[tree.parent[joins]] = marked[tree.child[joins]] = True
    marked[0] |= not joins.any()
    return marked


class Forest(NamedTuple):
    """Cost and label of every sample, and the order in which the samples were conquered."""

    cost: NDArray[np.float64]
    codes: NDArray[np.int64]
    order: NDArray[np.int64]  # lowest cost first


def conquer(tree: Tree, start: NDArray[np.bool_], codes: NDArray[np.int64], *, clamp: bool = False) -> Forest:
    """Grow the forest along the tree from the prototypes ``start``; with ``clamp``, known labels are never replaced."""
    n = len(codes)
    neighbors: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for a, b, w in zip(tree.parent.tolist(), tree.child.tolist(), tree.weight.tolist(), strict=True):
        neighbors[a].append((b, w))
        neighbors[b].append((a, w))
    cost = np.where(start, 0.0, np.inf)
    given, codes = codes, codes.copy()
    queue = [(0.0, int(s)) for s in np.flatnonzero(start)]
    order, done = [], np.zeros(n, dtype=bool)
    while queue:
        _, s = heapq.heappop(queue)
        if done[s]:
            continue
        done[s] = True
        order.append(s)
        for t, arc in neighbors[s]:
            offer = max(cost[s], arc)
            if offer < cost[t]:
                cost[t] = offer
                codes[t] = given[t] if clamp and given[t] != UNLABELLED else codes[s]
                heapq.heappush(queue, (offer, t))
    return Forest(cost, codes, np.array(order))


def _classify(forest: Forest, known: NDArray[np.float32], queries: NDArray[np.float32]) -> NDArray[np.int64]:
    """The label of argmin over s of max(cost(s), d(s, t)); ties go to the sample that was conquered first."""
    order = forest.order
    train, cost, codes = known[order].astype(np.float64), forest.cost[order], forest.codes[order]
    block = max(1, _BLOCK_BYTES // (24 * len(train)))
    answers = []
    for start in range(0, len(queries), block):
        squared = _squared_distances(queries[start : start + block].astype(np.float64), train)
        answers.append(codes[np.maximum(squared, cost).argmin(axis=1)])
    return np.concatenate(answers)


class OPF(System):
    """Supervised optimum-path forest on the complete graph of the labelled samples; reaches every sample."""

    def _transduce(self, X: NDArray[np.float32], codes: NDArray[np.int64]) -> Transduction:
        labelled = codes != UNLABELLED
        known, given = X[labelled], codes[labelled]
        tree = spanning_tree(known)
        forest = conquer(tree, prototypes(tree, given), given)
        return Transduction(_classify(forest, known, X), np.ones(len(X), dtype=bool))


class OPFSemi(System):
    """Semi-supervised optimum-path forest: the labelled prototypes compete for all samples.

    As published, a labelled sample that is not a prototype can be conquered by another class and change its
    label; with ``clamp=True`` it keeps its own and passes it on.
    """

    def __init__(self, clamp: bool = False):
        self.clamp = clamp

    def _transduce(self, X: NDArray[np.float32], codes: NDArray[np.int64]) -> Transduction:
        return self._transduce_folds(X, codes[None])[0]

    def _transduce_folds(self, X: NDArray[np.float32], folds: NDArray[np.int64]) -> list[Transduction]:
        tree = spanning_tree(X)  # of all samples, so it does not depend on the labels
        return [self._grow(tree, X, codes) for codes in folds]

    def _grow(self, tree: Tree, X: NDArray[np.float32], codes: NDArray[np.int64]) -> Transduction:
        labelled = codes != UNLABELLED
        start = np.zeros(len(X), dtype=bool)
        start[labelled] = prototypes(spanning_tree(X[labelled]), codes[labelled])
        forest = conquer(tree, start, codes, clamp=self.clamp)
        return Transduction(forest.codes, np.ones(len(X), dtype=bool))
