"""Neighbors of very many samples: this package's approximate search against faiss and pynndescent, in one run.

    python benchmarks/neighbor_search.py --n 200000 --methods approximate hnsw nndescent pynndescent
    python benchmarks/neighbor_search.py --n 1000000 --methods approximate

Made features (made_features.py) with 768 dimensions, centered rows of equal length, lists of 40 entries. Each method runs in
a process of its own and appends one row. The recall is that of 1,000 random rows, by distance, for every method alike. faiss
(`pip install faiss-cpu`) and pynndescent are compared with parameters that bring them near the recall of 0.95.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from common import RESULTS, print_table, read_rows, write_rows
from made_features import made_features

K = 40
Lists = NDArray[np.integer]


def features(n: int) -> NDArray[np.float32]:
    from grande_gnn.classifier.normalizer import Normalizer

    X, _ = made_features(n, 100)
    return Normalizer.fit(X, "center-l2").transform(X)


def approximate(X: NDArray[np.float32], threads: int) -> Lists:
    from grande_gnn.graph.approximate_search import approximate_lists

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return approximate_lists(X, K, device)[0]


def exact(X: NDArray[np.float32], threads: int) -> Lists:
    from grande_gnn.graph.exact_search import exact_lists

    return exact_lists(X, K, torch.device("cuda" if torch.cuda.is_available() else "cpu"))


def hnsw(X: NDArray[np.float32], threads: int) -> Lists:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexHNSWFlat(X.shape[1], 32)
    index.hnsw.efConstruction, index.hnsw.efSearch = 80, 128
    index.add(X)
    return index.search(X, K)[1]


def nndescent(X: NDArray[np.float32], threads: int) -> Lists:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexNNDescentFlat(X.shape[1], 64)
    index.nndescent.search_L = 128
    index.add(X)
    return index.search(X, K)[1]


def pynndescent(X: NDArray[np.float32], threads: int) -> Lists:
    from pynndescent import NNDescent

    return NNDescent(X, n_neighbors=K, random_state=0, n_jobs=threads).neighbor_graph[0]


METHODS: dict[str, Callable[[NDArray[np.float32], int], Lists]] = {
    method.__name__: method for method in (approximate, exact, hnsw, nndescent, pynndescent)
}


def recall(X: NDArray[np.float32], lists: Lists, n_asked: int = 1000) -> float:
    """The share of the 39 others that are no farther than the true ones, over random rows."""
    rows = np.sort(np.random.default_rng(5).permutation(len(X))[:n_asked])
    squares = np.einsum("ij,ij->i", X, X)
    nearest = np.empty((len(rows), 0), dtype=np.float32)
    for start in range(0, len(X), 2**15):
        part = squares[start : start + 2**15] - 2 * X[rows] @ X[start : start + 2**15].T
        nearest = np.partition(np.hstack([nearest, part]), min(K, part.shape[1]) - 1, axis=1)[:, :K]
    farthest = nearest.max(axis=1)
    shares = []
    for row, last in zip(rows, farthest, strict=True):
        found = np.unique(lists[row][(lists[row] >= 0) & (lists[row] != row)])
        values = squares[found] - 2 * X[found] @ X[row]
        shares.append(min(K - 1, int((values <= last + 1e-4 * squares[row]).sum())) / (K - 1))
    return float(np.mean(shares))


def measure(n: int, method: str, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    X = features(n)
    product = torch.randn(2000, 768)
    start = time.perf_counter()
    for _ in range(5):
        product @ product.T
    rate = 5 * 2 * 2000**2 * 768 / (time.perf_counter() - start) / 1e9
    cpu, start = time.process_time(), time.perf_counter()
    lists = METHODS[method](X, threads)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "n": n, "d": X.shape[1], "k": K, "method": method, "threads": threads, "seconds": seconds, "cpu_seconds": cpu,
        "recall": recall(X, lists), "peak_gib": peak, "gflops": rate, "load": os.getloadavg()[0],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=3600)
    parser.add_argument("--out", type=Path, default=RESULTS / "neighbor_search.csv")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        logging.basicConfig(
            level=logging.INFO, stream=sys.stderr, format="%(relativeCreated)d ms %(message)s"
        )
        print(json.dumps(measure(options.n, options.one, options.threads)))
        return
    rows = read_rows(options.out)
    for method in options.methods:
        if any((row["n"], row["method"]) == (str(options.n), method) for row in rows):
            continue
        command = [
            sys.executable,
            __file__,
            "--one",
            method,
            "--n",
            str(options.n),
            "--threads",
            str(options.threads),
        ]
        try:
            output = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, timeout=options.timeout, check=True
            ).stdout
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            print(f"{method}: {type(error).__name__} after at most {options.timeout:.0f} s", flush=True)
            continue
        rows.append(json.loads(output.splitlines()[-1]))
        write_rows(rows, options.out)
        rows = read_rows(options.out)
        print(rows[-1], flush=True)
    print_table(rows, ["n", "method", "threads", "seconds", "cpu_seconds", "recall", "peak_gib", "gflops"])


if __name__ == "__main__":
    main()
