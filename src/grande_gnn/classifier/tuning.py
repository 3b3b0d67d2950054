"""What ``"auto"`` stands for: not one choice but a committee of graphs, adapted to the size of the data.

Which graph is best differs between data sets, and few labels cannot tell. The mean of the probabilities of a few different
graphs is about as good as the best of them, without choosing (``docs/committee.md``). A field of the wanted choice
that is not open is the same in every member, and members that become equal are merged; if nothing is open, one remains.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from grande_gnn.classifier.preparation import Choice

__all__ = ["FAVORITE", "MEMBERS", "PAPER", "adapted_neighbors", "members_for"]

logger = logging.getLogger(__name__)

PAPER = Choice("reciprocal", 40, "none", 0.2)
"""The authors' settings."""

FAVORITE = Choice("dgcg", 40, "center-l2", 0.2)
"""One of the two best single graphs on the data of ``docs/committee.md``."""

MEMBERS = (
    FAVORITE,
    Choice("knn", 20, "center-l2", 0.2),
    Choice("reciprocal", 10, "center-l2", 0.2),
    Choice("knn", 10, "center-l2", 0.2),
    Choice("dgcg", 20, "center-l2", 0.2),
)
"""The committee, the most useful first. All have one normalization, so one search for neighbors is enough."""

FEWER_ABOVE = ((50_000, 1), (20_000, 3))
"""(samples, members): above this many samples there are only this many members, because each training takes long."""

LONGEST = 40
"""Neighbors of the largest member. If classes have fewer images than this, all members use proportionally fewer."""

SHORTEST = 5
"""With fewer neighbors than this, graphs fall into pieces."""


def members_for(wanted: Choice, n_samples: int, n_classes: int) -> list[Choice]:
    """The members of the committee: ``wanted``, with its open fields filled; exactly one if nothing is open.

    >>> wanted = Choice("auto", "auto", "none", 0.2)
    >>> [(member.graph, member.n_neighbors) for member in members_for(wanted, 1360, 17)]
    [('dgcg', 40), ('knn', 20), ('reciprocal', 10), ('knn', 10), ('dgcg', 20)]
    """
    count = next((few for limit, few in FEWER_ABOVE if n_samples > limit), len(MEMBERS))
    if count < len(MEMBERS):
        logger.warning(
            "there are %d samples, so the committee has at most %d of %d graphs",
            n_samples,
            count,
            len(MEMBERS),
        )
    fitting = (
        replace(member, n_neighbors=adapted_neighbors(int(member.n_neighbors), n_samples, n_classes))
        for member in MEMBERS[:count]
    )
    return list(dict.fromkeys(wanted.fill(member) for member in fitting))


def adapted_neighbors(n_neighbors: int, n_samples: int, n_classes: int) -> int:
    """Fewer neighbors if an average class has fewer than :data:`LONGEST` images, and never more than there are samples."""
    share = min(1.0, n_samples / n_classes / LONGEST)
    return min(n_samples, max(SHORTEST, round(n_neighbors * share)))
