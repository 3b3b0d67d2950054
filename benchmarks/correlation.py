"""Rank correlation: this package against a plain Python loop over pairs, and the memory of a large case.

    python benchmarks/correlation.py [--features features.npz]

Without features a random matrix of the size of Flowers17 is ranked. The loops are timed on 100 rows.
"""

import argparse
import csv
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grande_gnn.graph import rank_correlation, ranked_lists
from grande_gnn.graph.correlation import MEASURES

LENGTH, DEPTH, P = 200, 40, 0.9


def by_definition(x: list[int], y: list[int]) -> float:
    """RBO as its formula reads: the overlap of the two heads at every depth."""
    return (1 - P) * sum(P ** (t - 1) * len(set(x[:t]) & set(y[:t])) / t for t in range(1, len(x) + 1))


def growing_sets(x: list[int], y: list[int]) -> float:
    """The same with the overlap kept up to date, about the best plain Python can do."""
    seen_x: set[int] = set()
    seen_y: set[int] = set()
    shared, total, weight = 0, 0.0, 1 - P
    for depth, (a, b) in enumerate(zip(x, y, strict=True), 1):
        shared += a == b or (a in seen_y) + (b in seen_x)
        seen_x.add(a)
        seen_y.add(b)
        total += weight * shared / depth
        weight *= P
    return total


def python_loop(lists: np.ndarray, rows: range, score: Callable[[list[int], list[int]], float]) -> np.ndarray:
    tops = lists[:, :DEPTH].tolist()
    return np.array([[score(tops[i], tops[j]) for j in lists[i].tolist()] for i in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=Path, help="an .npz with an array `features`")
    parser.add_argument("--large", type=int, default=20_000, help="samples of the memory case; 0 skips it")
    parser.add_argument("--csv", type=Path, help="write the rows here too")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    if options.features:
        features = np.load(options.features)["features"]
    else:
        features = rng.normal(size=(1360, 64)) + rng.normal(size=(17, 64))[np.arange(1360) % 17]
    lists = ranked_lists(features, LENGTH)

    print(f"n = {len(lists)}, lists of {LENGTH}, depth {DEPTH}; microseconds a pair, seconds for all pairs")
    some = range(0, len(lists), max(1, len(lists) // 100))
    fast = rank_correlation(lists, DEPTH, rows=list(some))
    rows = []
    for score in (by_definition, growing_sets):
        start = time.perf_counter()
        slow = python_loop(lists, some, score)
        rows.append(
            _row(f"rbo, loop, {score.__name__}", (time.perf_counter() - start) / slow.size, lists.size)
        )
        assert np.abs(slow - fast).max() < 1e-12
    rows += [
        _row(name, min(_timed(lists, name) for _ in range(3)) / lists.size, lists.size) for name in MEASURES
    ]
    for row in rows:
        ratios = [slow["us_a_pair"] / row["us_a_pair"] for slow in rows[:2]]
        row["times_by_definition"], row["times_growing_sets"] = ratios
        print(f"{row['measure']:26} {row['us_a_pair']:8.3f} us {row['seconds']:8.3f} s", end="")
        print(f" {ratios[0]:7.1f} x by_definition {ratios[1]:7.1f} x growing_sets")
    if options.large:
        _memory(options.large, rng)
    if options.csv:
        options.csv.parent.mkdir(parents=True, exist_ok=True)
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def _row(measure: str, seconds_a_pair: float, pairs: int) -> dict[str, Any]:
    return {"measure": measure, "us_a_pair": seconds_a_pair * 1e6, "seconds": seconds_a_pair * pairs}


def _timed(lists: np.ndarray, name: str) -> float:
    start = time.perf_counter()
    rank_correlation(lists, DEPTH, measure=name)
    return time.perf_counter() - start


def _memory(n: int, rng: np.random.Generator) -> None:
    lists = (np.arange(n)[:, None] + np.append(0, 1 + rng.permutation(n - 1)[: LENGTH - 1])) % n
    start = time.perf_counter()
    rank_correlation(lists.astype(np.int32), DEPTH)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"n = {n}, lists of {LENGTH}: {seconds:.2f} s, peak memory of the whole process {peak:.2f} GiB")


if __name__ == "__main__":
    main()
