"""The density-guided correlation graph (DGCG): join samples whose ranked lists agree.

    E = {(i, j) | j ∈ list(i),  S_ij > th},      S_ij = correlation of list(i) and list(j)

The threshold th is searched so that 3 to 4 % of the n·200 possible edges i→j remain; the directed
edges are then symmetrized by union, as everywhere in this package. With ``count_self=False`` the density
counts j ≠ i (DGCG); with ``count_self=True`` it counts the n self edges too (D-GRaNDe).
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph.correlation import Measure, rank_correlation
from grande_gnn.graph.graph import Graph
from grande_gnn.graph.neighbors import ranked_lists
from grande_gnn.internal.row_blocks import for_row_blocks
from grande_gnn.internal.validation import check_choice, check_lists

__all__ = ["THRESHOLDS", "dgcg_edges", "dgcg_graph"]

logger = logging.getLogger(__name__)

N_CANDIDATES = 200
"""The authors' list length: the neighbors a sample may be joined to, and what the density divides by."""

LOWEST, HIGHEST = 0.03, 0.04
"""The authors' bounds on the density."""

ROUNDS = 10
"""The authors' number of bisections."""


def dgcg_edges(
    lists: ArrayLike,
    *,
    correlation: str | Measure = "rbo",
    depth: int = 40,
    count_self: bool = False,
    threshold: str = "bisect",
    device: str = "cpu",
) -> Graph:
    """Join i and j when j is among the first 200 of i and their lists correlate above the threshold.

    Parameters
    ----------
    lists : ranked lists (n_samples x length); entries beyond the first 200 are not used.
    correlation : a name of :data:`~grande_gnn.graph.correlation.MEASURES`, or a measure.
    depth : items of two lists compared.
    count_self : whether the density counts the self edges.
    threshold : ``"bisect"``, the authors' ten bisections, which may step over the wanted density when the
        scores are few; or ``"exact"``, the threshold whose density is nearest 3.5 %, which also joins
        a sample without an edge to its best candidate.
    device : where the lists are compared.
    """
    lists = check_lists(lists)[:, :N_CANDIDATES]
    search = THRESHOLDS[check_choice(threshold, THRESHOLDS, name="threshold")]
    scores = rank_correlation(lists, depth, measure=correlation, device=device)
    cut = search(scores, count_self)
    chosen = scores > cut
    density = _density(scores, cut, count_self)
    logger.info("DGCG threshold %.6g leaves a density of %.4f", cut, density)
    if not LOWEST <= density <= HIGHEST:
        logger.info(
            "the DGCG density %.4f is outside %g to %g, as with few samples or many equal ones; "
            "the reciprocal graph (graph='reciprocal') needs no density", density, LOWEST, HIGHEST,
        )  # fmt: skip
    if threshold == "exact":
        _join_the_isolated(chosen, scores, lists)
    sources, columns = np.nonzero(chosen)
    return Graph.from_edges(sources, lists[sources, columns], len(lists))


def dgcg_graph(
    features: ArrayLike,
    n_neighbors: int = 40,
    *,
    correlation: str | Measure = "rbo",
    count_self: bool = False,
    threshold: str = "bisect",
    device: str = "cpu",
) -> Graph:
    """The density-guided correlation graph of the features; ``n_neighbors`` is the depth compared.

    With fewer than 200 samples the lists hold all of them, and the depth is at most their number.

    >>> dgcg_graph([[0.0], [1.0], [1.5], [9.0], [9.5]], 3, threshold="exact").degree.tolist()
    [2, 3, 2, 2, 2]
    """
    lists = ranked_lists(features, N_CANDIDATES, device=device)
    depth = min(n_neighbors, len(lists))
    return dgcg_edges(
        lists, correlation=correlation, depth=depth, count_self=count_self, threshold=threshold, device=device
    )


def _density(scores: NDArray[np.float64], cut: float, count_self: bool) -> float:
    counted = scores if count_self else scores[:, 1:]
    above: list[int] = []
    for_row_blocks(lambda rows: above.append(int(np.count_nonzero(counted[rows] > cut))), counted)
    return sum(above) / (len(scores) * min(N_CANDIDATES, len(scores)))


def _bisect(scores: NDArray[np.float64], count_self: bool) -> float:
    """Halve [0, 1] until the density fits, ten times at most; the last midpoint is then used without a check."""
    low, cut, high = 0.0, 0.5, 1.0
    for _ in range(ROUNDS):
        density = _density(scores, cut, count_self)
        if LOWEST <= density <= HIGHEST:
            break
        if density < LOWEST:
            high = cut
        else:
            low = cut
        cut = (low + high) / 2
    return cut


def _exact(scores: NDArray[np.float64], count_self: bool) -> float:
    """Of zero and all scores the one whose density is nearest the middle of the bounds."""
    counted = np.sort((scores if count_self else scores[:, 1:]).ravel())
    cuts = np.unique(np.append(counted, 0.0))
    above = counted.size - np.searchsorted(counted, cuts, side="right")
    densities = above / (len(scores) * min(N_CANDIDATES, len(scores)))
    return float(cuts[np.abs(densities - (LOWEST + HIGHEST) / 2).argmin()])


def _join_the_isolated(
    chosen: NDArray[np.bool_], scores: NDArray[np.float64], lists: NDArray[np.int32]
) -> None:
    """Choose, in place, the best candidate of each sample that neither chose nor was chosen."""
    if lists.shape[1] == 1:
        return
    others = chosen.copy()
    others[:, 0] = False
    linked = others.sum(axis=1) > 0
    linked[lists[others]] = True
    isolated = np.flatnonzero(~linked)
    chosen[isolated, 1 + scores[isolated, 1:].argmax(axis=1)] = True


THRESHOLDS = {"bisect": _bisect, "exact": _exact}
"""How the threshold is found, by name."""
