"""Which images to label next, and a labels file to fill in.

:func:`suggest` asks one of the :data:`~grande_gnn.labelling.strategies.STRATEGIES`; how they compare is in
``docs/suggest.md``. :func:`labelling_order` is the choice of version 0.1: greedy maximum coverage of the ranked lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.classifier.reduction import Reduction
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Neighbors
from grande_gnn.images import ImageSet
from grande_gnn.internal.csv_file import write_csv
from grande_gnn.internal.files import check_output
from grande_gnn.internal.validation import (
    as_label_array,
    check_choice,
    check_features,
    check_integer,
    check_lists,
    check_seed,
    encode_labels,
    is_unlabelled,
)
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.run import extract_images
from grande_gnn.labelling.steps import Progress, counted
from grande_gnn.labelling.strategies import STRATEGIES, Situation

__all__ = ["DEFAULT_STRATEGY", "labelling_order", "suggest", "suggest_labels", "write_template"]

DEFAULT_STRATEGY = "useful"
"""The best overall on the data measured for this package (docs/suggest.md)."""

NORMALIZATION = "center-l2"
"""How features that come without neighbors are normalized: as in the measurements of docs/suggest.md."""


def suggest(
    source: Labelling | Neighbors | ArrayLike,
    n: int | None = None,
    strategy: str = DEFAULT_STRATEGY,
    *,
    labels: ArrayLike | None = None,
    margin: NDArray[np.float64] | None = None,
    random_state: int = 0,
) -> NDArray[np.int64]:
    """The rows of the images that are most useful to label next, the best first; labelled ones are never among them.

    Parameters
    ----------
    source : a labelling, the neighbors of the images, or their features.
    n : how many are wanted; None: all that have no label.
    strategy : a name of :data:`~grande_gnn.labelling.strategies.STRATEGIES`.
    labels : one per image, ``""``, ``None``, ``NaN`` or ``-1`` for the unlabelled; None: those given to the labelling, or
        none.
    margin : for each image the lead of its present label over the runner-up; None: that of the labelling, if it is one.
    random_state : seed of the strategies that draw random numbers.

    Examples
    --------
    Two groups, one of which has a label: the other group comes first.

    >>> suggest([[0, 0], [0, 1], [1, 0], [9, 9], [9, 8], [8, 9]], 1, labels=["a", "", "", "", "", ""]).tolist()
    [3]
    """
    if isinstance(source, Labelling):
        if source.neighbors is None:
            raise InvalidInputError(
                "suggestions need the features of the images, and this labelling has none: label the images again; "
                "got a labelling without neighbors"
            )
        neighbors, labels = source.neighbors, source.given if labels is None else labels
        margin = source.margin if margin is None and any(source.given) else margin
    elif isinstance(source, Neighbors):
        neighbors = source
    else:
        neighbors = _neighbors(source)
    codes = np.full(len(neighbors), -1) if labels is None else _codes(labels, len(neighbors))
    known = codes >= 0
    wanted = len(known) if n is None else check_integer(n, name="n", low=0)
    choice = STRATEGIES[check_choice(strategy, STRATEGIES, name="strategy")]
    situation = Situation(neighbors, known, int(codes.max(initial=-1)) + 1, margin, check_seed(random_state))
    rows = choice.choose(situation, min(wanted, int((~known).sum())))
    return rows[~known[rows]][:wanted]


def suggest_labels(
    images: str | Path | ImageSet,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
    strategy: str = DEFAULT_STRATEGY,
) -> dict[str, str]:
    """All readable images with their labels, in the order in which they are worth labelling.

    Those without a label (``""``) come first, the most useful of them on top. Of ``options``, those about images and the
    device matter; ``progress`` is called as by :func:`~grande_gnn.labelling.run.label_images`.

    >>> write_template("labels.csv", suggest_labels("photos/"))                # doctest: +SKIP
    """
    extraction = extract_images(images, options, progress)
    files, labels = extraction.images.files, extraction.images.labels
    neighbors = _neighbors(extraction.features(), options.device)
    with counted(progress):
        order = suggest(neighbors, strategy=strategy, labels=labels, random_state=options.seed)
    # What is labelled already comes last, with its label: nothing the user knows is lost.
    return {files[i]: "" for i in order} | {f: label for f, label in zip(files, labels, strict=True) if label}


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


def _neighbors(features: ArrayLike, device: str = "auto") -> Neighbors:
    """The neighbors in normalized features."""
    X = Reduction.fit(features).transform(features) if issparse(features) else check_features(features)
    return Neighbors(Normalizer.fit(X, NORMALIZATION).transform(X), device=device)


def _codes(labels: ArrayLike, n_images: int) -> NDArray[np.int64]:
    """Class codes, -1 where there is no label; all -1 if nothing is labelled."""
    if is_unlabelled(as_label_array(labels)).all():
        return np.full(n_images, -1)
    return encode_labels(labels, n_images)[0]
