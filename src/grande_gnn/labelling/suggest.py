"""Which images to label first.

A label spreads to the images around it, so the best next image is the one in whose neighbourhood
most images have no label near them yet: greedy maximum coverage, as in Yehuda et al., Active
Learning Through a Covering Lens, NeurIPS 2022, with ranked lists in place of balls. Typical images of
large groups come first, then those of smaller groups, outliers last; any beginning of the order is a
good choice for a budget of that many labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.internal.validation import check_lists

__all__ = ["labelling_order"]


def labelling_order(lists: ArrayLike) -> NDArray[np.int64]:
    """All images, the most useful to label first; ties go to the lower index.

    Parameters
    ----------
    lists : ranked lists of shape (n_images, n_neighbors), each image first in its own. A labelled image
        covers the images that have it in their list: first each image is covered once, then
        twice, and so on.

    Examples
    --------
    Image 1 is near 0 and 2, so it comes first; 3 is still alone then.

    >>> labelling_order([[0, 1], [1, 0], [2, 1], [3, 2]]).tolist()
    [1, 2, 0, 3]
    """
    neighbours = check_lists(lists)
    n_images, length = neighbours.shape
    listed_by = _inverse(neighbours)
    order: list[int] = []
    times_covered = np.zeros(n_images, dtype=np.int64)
    chosen = np.zeros(n_images, dtype=bool)
    for wanted in range(1, length + 1):
        waiting = neighbours[times_covered < wanted]
        gain = np.bincount(waiting.ravel(), minlength=n_images)
        gain[chosen] = 0
        while gain.any():
            best = int(gain.argmax())
            order.append(best)
            chosen[best] = True
            reached = listed_by[best]
            times_covered[reached] += 1
            now_covered = neighbours[reached[times_covered[reached] == wanted]]
            np.subtract.at(gain, now_covered.ravel(), 1)
            gain[chosen] = 0
    return np.array(order, dtype=np.int64)


def _inverse(neighbours: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """For each image, the images that have it in their list."""
    targets = neighbours.ravel()
    sources = np.repeat(np.arange(len(neighbours)), neighbours.shape[1])
    by_target = np.argsort(targets, kind="stable")
    ends = np.cumsum(np.bincount(targets, minlength=len(neighbours)))
    return np.split(sources[by_target], ends[:-1])
