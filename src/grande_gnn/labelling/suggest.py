"""Which images to label first, and a labels file to fill in.

A label spreads to the images around it, so the best next image is the one in whose neighbourhood
most images have no label near them yet: greedy maximum coverage, as in Yehuda et al., Active
Learning Through a Covering Lens, NeurIPS 2022, with ranked lists in place of balls. Typical images of
large groups come first, then those of smaller groups, outliers last; any beginning of the order is a
good choice for a budget of that many labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph import Neighbors
from grande_gnn.images import ImageSet
from grande_gnn.internal.csv_file import write_csv
from grande_gnn.internal.files import check_output
from grande_gnn.internal.validation import check_lists
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.run import Progress, extract_images

__all__ = ["labelling_order", "suggest_labels", "write_template"]

N_NEIGHBORS = 40
"""A label covers the images that have it among so many neighbors: the paper's list length."""


def suggest_labels(
    images: str | Path | ImageSet,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> dict[str, str]:
    """All readable images with their labels, in the order in which they are worth labelling.

    Those without a label (``""``) come first, the most useful of them on top. Of ``options``, those about images and the
    device matter; ``progress`` is called as by :func:`~grande_gnn.labelling.run.label_images`.

    >>> write_template("labels.csv", suggest_labels("photos/"))                # doctest: +SKIP
    """
    extraction = extract_images(images, options, progress)
    neighbors = Neighbors(extraction.features(), device=options.device)
    order = labelling_order(neighbors.lists(N_NEIGHBORS))
    pairs = [(extraction.images.files[i], extraction.images.labels[i]) for i in order]
    # What is labelled already comes last, with its label: nothing the user knows is lost.
    return dict(sorted(pairs, key=lambda pair: bool(pair[1])))


def write_template(
    path: str | Path,
    files: Iterable[str],
    known: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a CSV with one row ``file,label`` per file, in the order of ``files``.

    Labels are those ``known``, or those in ``files`` if that is a mapping (:func:`suggest_labels`), and blank for the
    others. An existing file is kept unless ``overwrite``: somebody may have filled it in.
    """
    labels = known if known is not None else files if isinstance(files, Mapping) else {}
    rows = ([file, labels.get(file, "")] for file in files)
    write_csv(check_output(path, overwrite), ["file", "label"], rows)


def labelling_order(lists: ArrayLike) -> NDArray[np.int64]:
    """The numbers of all images, the most useful to label first; ties go to the lower index.

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
    neighbors = check_lists(lists)
    n_images, length = neighbors.shape
    listed_by = _inverse(neighbors)
    order: list[int] = []
    times_covered = np.zeros(n_images, dtype=np.int64)
    chosen = np.zeros(n_images, dtype=bool)
    for wanted in range(1, length + 1):
        waiting = neighbors[times_covered < wanted]
        gain = np.bincount(waiting.ravel(), minlength=n_images)
        gain[chosen] = 0
        while gain.any():
            best = int(gain.argmax())
            order.append(best)
            chosen[best] = True
            reached = listed_by[best]
            times_covered[reached] += 1
            now_covered = neighbors[reached[times_covered[reached] == wanted]]
            np.subtract.at(gain, now_covered.ravel(), 1)
            gain[chosen] = 0
    return np.array(order, dtype=np.int64)


def _inverse(neighbors: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """For each image, the images that have it in their list."""
    targets = neighbors.ravel()
    sources = np.repeat(np.arange(len(neighbors)), neighbors.shape[1])
    by_target = np.argsort(targets, kind="stable")
    ends = np.cumsum(np.bincount(targets, minlength=len(neighbors)))
    return np.split(sources[by_target], ends[:-1])
