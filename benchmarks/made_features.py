"""Made features that are as hard as real ones: any number of samples, with the neighborhoods of Corel5k.

    python benchmarks/made_features.py DATA/corel5k/features_lite0.npz     # writes results/made_features.csv

    z = class center + mode of the class + noise          (LATENT numbers whose spread falls as a power law)
    x = max(0, z A + b) + a little noise of its own       (like the pooled output of a network)

Two numbers decide how hard a search and a classification are: the intrinsic dimension of the neighborhoods, and the share
of a sample's 40 nearest neighbors that have its class. Both are compared with Corel5k's here, and they lie within a fifth of
them. Of more samples the neighbors are nearer, hence purer, as in any collection that grows without new classes; so above
100,000 samples the class centers move together and the spread falls faster, by a fixed step per factor of ten. The
constants below were fixed before anything was tuned on these features. Rows are drawn in blocks, each from its own seed,
so memory stays bounded.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LATENT = 28
"""Dimensions in which classes and samples differ."""

DECAY = 0.5
"""The spread of latent dimension i is i^-DECAY."""

MODES = 64
"""Groups that each class consists of."""

CENTERS, SPREAD_OF_MODES = 0.82, 0.4
"""The spread of class centers, and of a class's modes around its center, in units of the noise."""

LARGE, NEARER, FASTER = 100_000, 0.06, 0.1
"""Above so many samples, the spread of class centers is this much smaller, and DECAY this much larger, per factor of ten."""

OWN_NOISE = 0.05
"""Noise of each feature that no other feature shares."""

BLOCK = 2**14
NEAR = 40
"""Length of the lists that are compared, the sample itself included."""


def made_features(
    n: int, c: int, d: int = 768, seed: int = 0, out: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """n × d features and their classes; ``out`` receives the features (such as a float16 memory map)."""
    rng = np.random.default_rng([seed, 0])
    larger = np.log10(max(1.0, n / LARGE))
    scale = np.arange(1, LATENT + 1) ** -(DECAY + FASTER * larger)
    centers = (CENTERS - NEARER * larger) * rng.standard_normal((c, 1, LATENT))
    modes = (centers + SPREAD_OF_MODES * rng.standard_normal((c, MODES, LATENT))) * scale
    A = rng.standard_normal((LATENT, d)).astype(np.float32) / np.sqrt((scale**2).sum())
    b = rng.normal(scale=0.5, size=d).astype(np.float32)
    X = np.empty((n, d), dtype=np.float32) if out is None else out
    y = np.empty(n, dtype=np.int64)

    def fill(number: int) -> None:
        own = np.random.default_rng([seed, 1, number])
        part = slice(number * BLOCK, min(n, (number + 1) * BLOCK))
        size = part.stop - part.start
        y[part] = own.integers(c, size=size)
        z = modes[y[part], own.integers(MODES, size=size)]
        z = z + own.standard_normal((size, LATENT)) * scale
        rows = np.maximum(z.astype(np.float32) @ A + b, 0)
        rows += OWN_NOISE * own.standard_normal((size, d), dtype=np.float32)
        X[part] = rows

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(fill, range(-(-n // BLOCK))))
    return X, y


def few_labels(y: NDArray[np.int64], per_class: int, seed: int = 0) -> NDArray[np.int64]:
    """The classes of ``per_class`` samples of each class, drawn at random; −1 for all others."""
    rng = np.random.default_rng([seed, 2])
    codes = np.full(len(y), -1, dtype=np.int64)
    for label in range(int(y.max()) + 1):
        rows = np.flatnonzero(y == label)
        chosen = rng.choice(rows, size=min(len(rows), per_class), replace=False)
        codes[chosen] = label
    return codes


def neighborhoods(X: NDArray[Any], y: NDArray[np.int64], n_asked: int = 1000) -> dict[str, float]:
    """Intrinsic dimension and purity of the exact lists of some random rows, in centered rows of equal length.

    The dimension is Levina & Bickel's estimate from the distances to the 39 nearest others, averaged as MacKay &
    Ghahramani advise: 1 / mean of log(r₃₉ / r_j).
    """
    asked = np.sort(np.random.default_rng(0).permutation(len(X))[:n_asked])
    mean = np.mean([X[a : a + BLOCK].mean(axis=0, dtype=np.float64) for a in range(0, len(X), BLOCK)], axis=0)
    queries = _directions(X[asked], mean)
    best = np.full((len(asked), NEAR), -np.inf, dtype=np.float32)
    found = np.zeros((len(asked), NEAR), dtype=np.int64)
    for start in range(0, len(X), BLOCK):
        block = _directions(X[start : start + BLOCK], mean)
        products = np.hstack([best, queries @ block.T])
        here = np.broadcast_to(np.arange(start, start + len(block)), (len(asked), len(block)))
        rows = np.hstack([found, here])
        order = np.argpartition(-products, NEAR - 1, axis=1)[:, :NEAR]
        best, found = np.take_along_axis(products, order, 1), np.take_along_axis(rows, order, 1)
    order = np.argsort(-best, axis=1)
    found = np.take_along_axis(found, order, 1)[:, 1:]
    near = np.sqrt(np.maximum(2 - 2 * np.take_along_axis(best, order, 1)[:, 1:].astype(np.float64), 1e-9))
    logs = np.log(near[:, -1:] / near[:, :-1])
    return {
        "intrinsic_dimension": 1 / float(logs.mean()),
        "purity": float((y[found] == y[asked, None]).mean()),
    }


def _directions(rows: NDArray[Any], mean: NDArray[np.float64]) -> NDArray[np.float32]:
    moved = rows.astype(np.float32) - mean.astype(np.float32)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def main() -> None:
    from common import RESULTS, print_table, write_rows

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corel5k", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS / "made_features.csv")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 100_000, 1_000_000])
    options = parser.parse_args()
    with np.load(options.corel5k) as archive:
        X, y = archive["features"].astype(np.float32), archive["labels"].astype(np.int64)
    rows = [{"features": "corel5k", "n": len(X), "classes": int(y.max()) + 1} | neighborhoods(X, y)]
    for n in options.sizes:
        c = 50 if n < 10_000 else 100
        out = np.empty((n, 768), dtype=np.float16)
        rows.append({"features": "made", "n": n, "classes": c} | neighborhoods(*made_features(n, c, out=out)))
    for row in rows:
        row |= {f"{name}_ratio": row[name] / rows[0][name] for name in ("intrinsic_dimension", "purity")}
    print_table(rows, list(rows[0]))
    write_rows(rows, options.out)


if __name__ == "__main__":
    main()
