"""Ways in which people label: which samples of a labelled set are known, by name of the kind.

r1 r2 r4 r8    so many labels of each class, at random
t2 t4 t8       so many times the number of classes, in the order that ``grande label --template`` of version 0.1 proposes
q2 q4 q8       the same in the order that it proposes now, which is also that of the review's queue "most useful next"
f10            a tenth of each class, side by side in file order
w5 w10 w20     as r8, with so many percent of the labels replaced by another class
u1             as r8, but one class has one label
o1             as r8, but nobody labelled one class
zipf           as many as r8 in all, the n-th class in proportion to 1/n
easy           eight of each class from the 16 that are nearest to the mean of their class
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from grande_gnn.labelling.suggest import labelling_order, suggest

__all__ = ["KINDS", "draw_labels"]

Codes = np.ndarray


def draw_labels(kind: str, y: Codes, X: np.ndarray, lists: Codes, draw: int) -> Codes:
    """The known class of each sample, −1 where there is none; the same draw gives the same labels.

    Parameters
    ----------
    kind : a name of :data:`KINDS`.
    y : the true classes.
    X : features, for ``easy``.
    lists : ranked lists of the samples, for ``t2`` and the like.
    draw : number of the draw.
    """
    rng = np.random.default_rng([zlib.crc32(kind.encode()), draw])
    return KINDS[kind](y, X, lists, draw, rng)


def _per_class(y: Codes, counts: Codes, rng: np.random.Generator) -> Codes:
    codes = np.full(len(y), -1)
    for c, count in enumerate(counts):
        members = np.flatnonzero(y == c)
        chosen = rng.choice(members, min(int(count), len(members)), replace=False)
        codes[chosen] = c
    return codes


def _random(each: int) -> Callable[..., Codes]:
    return lambda y, X, lists, draw, rng: _per_class(y, np.full(y.max() + 1, each), rng)


def _template(each: int, propose: Callable[[np.ndarray, Codes, int], Codes]) -> Callable[..., Codes]:
    def draw_template(y: Codes, X: np.ndarray, lists: Codes, draw: int, rng: np.random.Generator) -> Codes:
        """The proposed order is fixed, so from the second draw on a tenth of the images is passed over."""
        wanted = each * (int(y.max()) + 1)
        order = propose(X, lists, min(2 * wanted, len(y)))
        order = order[rng.random(len(order)) >= 0.1] if draw else order
        chosen = order[:wanted]
        codes = np.full(len(y), -1)
        codes[chosen] = y[chosen]
        return codes

    return draw_template


def _file_order(y: Codes, X: np.ndarray, lists: Codes, draw: int, rng: np.random.Generator) -> Codes:
    codes = np.full(len(y), -1)
    for c in range(y.max() + 1):
        members = np.flatnonzero(y == c)
        tenth = np.array_split(members, 10)[draw % 10]
        codes[tenth] = c
    return codes


def _wrong(percent: int) -> Callable[..., Codes]:
    def draw_wrong(y: Codes, X: np.ndarray, lists: Codes, draw: int, rng: np.random.Generator) -> Codes:
        codes = _per_class(y, np.full(y.max() + 1, 8), rng)
        known = np.flatnonzero(codes >= 0)
        spoilt = rng.choice(known, round(percent / 100 * len(known)), replace=False)
        codes[spoilt] = (codes[spoilt] + rng.integers(1, y.max() + 1, len(spoilt))) % (y.max() + 1)
        return codes

    return draw_wrong


def _uneven(count: int) -> Callable[..., Codes]:
    def draw_uneven(y: Codes, X: np.ndarray, lists: Codes, draw: int, rng: np.random.Generator) -> Codes:
        counts = np.full(y.max() + 1, 8)
        counts[(7 * draw + 3) % len(counts)] = count
        return _per_class(y, counts, rng)

    return draw_uneven


def _zipf(y: Codes, X: np.ndarray, lists: Codes, draw: int, rng: np.random.Generator) -> Codes:
    n_classes = y.max() + 1
    shares = 1 / np.arange(1, n_classes + 1)
    counts = np.maximum(1, np.round(8 * n_classes * shares / shares.sum()))
    return _per_class(y, rng.permutation(counts), rng)


def _easy(y: Codes, X: np.ndarray, lists: Codes, draw: int, rng: np.random.Generator) -> Codes:
    codes = np.full(len(y), -1)
    for c in range(y.max() + 1):
        members = np.flatnonzero(y == c)
        from_mean = np.linalg.norm(X[members] - X[members].mean(axis=0), axis=1)
        nearest = members[np.argsort(from_mean, kind="stable")[:16]]
        codes[rng.choice(nearest, min(8, len(nearest)), replace=False)] = c
    return codes


KINDS: dict[str, Callable[..., Codes]] = {
    **{f"r{each}": _random(each) for each in (1, 2, 4, 8)},
    **{f"t{each}": _template(each, lambda X, lists, n: labelling_order(lists)) for each in (2, 4, 8)},
    **{f"q{each}": _template(each, lambda X, lists, n: suggest(X, n)) for each in (2, 4, 8)},
    "f10": _file_order,
    **{f"w{percent}": _wrong(percent) for percent in (5, 10, 20)},
    "u1": _uneven(1),
    "o1": _uneven(0),
    "zipf": _zipf,
    "easy": _easy,
}
"""All kinds by name."""
