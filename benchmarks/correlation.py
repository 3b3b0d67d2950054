"""Rank correlation: each measure against a plain Python loop over the pairs, and the memory of a large DGCG graph.

    python benchmarks/correlation.py [--features features.npz] [--csv FILE]

Without features a random matrix of the size of Flowers17 is ranked. The loops are timed on a few rows, this package on
all; both must agree. The peak is that of the whole process.
"""

import argparse
import resource
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from common import print_table, write_rows
from grande_gnn.graph import dgcg_graph, rank_correlation, ranked_lists
from grande_gnn.graph.correlation import MEASURES

LENGTH, DEPTH, P = 200, 40, 0.9
Loop = Callable[[list[int], list[int]], float]


def overlaps(x: list[int], y: list[int]) -> list[int]:
    """How many entries the heads of two lists share, at every depth."""
    return [len(set(x[:t]) & set(y[:t])) for t in range(1, len(x) + 1)]


def jaccards(x: list[int], y: list[int]) -> list[float]:
    return [shared / (2 * t - shared) for t, shared in enumerate(overlaps(x, y), 1)]


def rbo(x: list[int], y: list[int]) -> float:
    return (1 - P) * sum(P ** (t - 1) * shared / t for t, shared in enumerate(overlaps(x, y), 1))


def rbo_growing_sets(x: list[int], y: list[int]) -> float:
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


def jaccard(x: list[int], y: list[int]) -> float:
    shared = len(set(x) & set(y))
    return shared / (2 * len(x) - shared)


def places(x: list[int], y: list[int]) -> list[tuple[int, int]]:
    """The places of every entry of either list in both, one past the end where it is missing."""
    in_x, in_y = ({item: place for place, item in enumerate(items)} for items in (x, y))
    return [(in_x.get(item, len(x)), in_y.get(item, len(y))) for item in {*x, *y}]


def spearman(x: list[int], y: list[int]) -> float:
    return 1 - sum(abs(a - b) for a, b in places(x, y)) / (len(x) * (len(x) + 1))


def kendall(x: list[int], y: list[int]) -> float:
    signs = [(a - c) * (b - d) for (a, b), (c, d) in combinations(places(x, y), 2)]
    return 1 - sum(1.0 if sign < 0 else 0.5 if sign == 0 else 0.0 for sign in signs) / len(signs)


LOOPS: list[tuple[str, str, Loop]] = [
    ("rbo", "by definition", rbo),
    ("rbo", "growing sets", rbo_growing_sets),
    ("jaccard", "by definition", jaccard),
    ("jaccard_k", "by definition", lambda x, y: sum(jaccards(x, y)) / len(x)),
    ("jaccard_max", "by definition", lambda x, y: max(jaccards(x, y))),
    ("jaccard_median", "by definition", lambda x, y: median(jaccards(x, y))),
    ("intersection", "by definition", lambda x, y: 2 * sum(overlaps(x, y)) / (len(x) * (len(x) + 1))),
    ("spearman", "by definition", spearman),
    ("kendall", "by definition", kendall),
]


def measure(lists: np.ndarray, name: str, loop: Loop) -> dict[str, Any]:
    """Microseconds a pair of the loop, on ten rows, and of the package, on all."""
    some = list(range(0, len(lists), max(1, len(lists) // 10)))
    tops = lists[:, :DEPTH].tolist()
    start = time.perf_counter()
    slow = np.array([[loop(tops[i], tops[j]) for j in lists[i].tolist()] for i in some])
    loop_us = 1e6 * (time.perf_counter() - start) / slow.size
    assert np.abs(slow - rank_correlation(lists, DEPTH, measure=name, rows=some)).max() < 1e-12
    seconds = min(_timed(lists, name) for _ in range(3))
    us = 1e6 * seconds / lists.size
    return {"seconds": seconds, "us_a_pair": us, "loop_us_a_pair": loop_us, "times_faster": loop_us / us}


def _timed(lists: np.ndarray, name: str) -> float:
    start = time.perf_counter()
    rank_correlation(lists, DEPTH, measure=name)
    return time.perf_counter() - start


def large_graph(n: int) -> dict[str, Any]:
    """The DGCG graph of ``n`` samples and the memory the process took until then."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, 64)) + 2 * rng.normal(size=(120, 64))[np.arange(n) % 120]).astype(np.float32)
    start = time.perf_counter()
    dgcg_graph(X, DEPTH)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"measure": f"dgcg_graph, {n} samples", "seconds": time.perf_counter() - start, "peak_gib": peak}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", type=Path, help="an .npz with an array `features`")
    parser.add_argument("--large", type=int, default=20_000, help="samples of the memory case; 0 skips it")
    parser.add_argument("--csv", type=Path, help="write the rows here too")
    options = parser.parse_args()
    if options.features:
        features = np.load(options.features)["features"]
    else:
        rng = np.random.default_rng(0)
        features = rng.normal(size=(1360, 64)) + rng.normal(size=(17, 64))[np.arange(1360) % 17]
    assert {name for name, _, _ in LOOPS} == set(MEASURES)
    rows = [large_graph(options.large)] if options.large else []  # first: a process's peak never goes down
    lists = ranked_lists(features, LENGTH)
    rows += [{"measure": name, "loop": how} | measure(lists, name, loop) for name, how, loop in LOOPS]
    print_table(
        rows, ["measure", "loop", "seconds", "us_a_pair", "loop_us_a_pair", "times_faster", "peak_gib"]
    )
    if options.csv:
        write_rows(rows, options.csv)


if __name__ == "__main__":
    main()
