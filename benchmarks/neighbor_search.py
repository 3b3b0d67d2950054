"""Neighbors of very many samples: this package's approximate search against faiss and pynndescent, in one run.

    python benchmarks/neighbor_search.py --n 200000 --methods approximate hnsw nndescent pynndescent
    python benchmarks/neighbor_search.py --n 1000000 --methods approximate
    python benchmarks/neighbor_search.py --n 1000000 --k 200 --methods approximate --groups 4000:400 16000:1000

Made features (made_features.py) with 768 dimensions, centered rows of equal length, lists of 40 entries (--k). Each
method runs in a process of its own and appends one row. The recall is that of 1,000 random rows, by distance, for each
method alike. faiss (`pip install faiss-cpu`) and pynndescent have usual parameters, which lead to more than 0.95; the
methods that end in _fast have smaller ones. `--groups` tries sizes of the groups of a partition and of a descent. On a
GPU the approximate search runs there.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from common import RESULTS, print_table, read_rows, write_rows
from made_features import made_features

Lists = NDArray[np.integer]


def features(n: int) -> NDArray[np.float32]:
    from grande_gnn.classifier.normalizer import Normalizer

    X, _ = made_features(n, 100)
    return Normalizer.fit(X, "center-l2").transform(X)


def approximate(X: NDArray[np.float32], k: int, threads: int) -> Lists:
    from grande_gnn.graph.approximate_search import approximate_lists

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return approximate_lists(X, k, device)[0]


def exact(X: NDArray[np.float32], k: int, threads: int) -> Lists:
    from grande_gnn.graph.exact_search import exact_lists

    return exact_lists(X, k, torch.device("cuda" if torch.cuda.is_available() else "cpu"))


def hnsw(X: NDArray[np.float32], k: int, threads: int) -> Lists:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexHNSWFlat(X.shape[1], 32)
    index.hnsw.efConstruction, index.hnsw.efSearch = 80, 128
    index.add(X)
    return index.search(X, k)[1]


def nndescent(X: NDArray[np.float32], k: int, threads: int) -> Lists:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexNNDescentFlat(X.shape[1], 64)
    index.nndescent.search_L = 128
    index.add(X)
    return index.search(X, k)[1]


def pynndescent(X: NDArray[np.float32], k: int, threads: int) -> Lists:
    from pynndescent import NNDescent

    return NNDescent(X, n_neighbors=k, random_state=0, n_jobs=threads).neighbor_graph[0]


def pynndescent_fast(X: NDArray[np.float32], k: int, threads: int) -> Lists:
    from pynndescent import NNDescent

    fewer = {"max_candidates": 20, "delta": 0.01}
    return NNDescent(X, n_neighbors=k, random_state=0, n_jobs=threads, **fewer).neighbor_graph[0]


METHODS: dict[str, Callable[[NDArray[np.float32], int, int], Lists]] = {
    method.__name__: method for method in (approximate, exact, hnsw, nndescent, pynndescent, pynndescent_fast)
}


def recall(X: NDArray[np.float32], lists: Lists, n_asked: int = 1000) -> float:
    """The share of the k − 1 others that are no farther than the true ones, over random rows."""
    k, device = lists.shape[1], torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = np.sort(np.random.default_rng(5).permutation(len(X))[:n_asked])
    asked = torch.from_numpy(X[rows]).to(device)
    nearest = torch.empty(len(rows), 0, device=device)
    for start in range(0, len(X), 2**15):
        block = torch.from_numpy(X[start : start + 2**15]).to(device)
        part = torch.cat([nearest, block.square().sum(1) - 2 * asked @ block.T], 1)
        nearest = part.topk(min(k, part.shape[1]), largest=False, sorted=False).values
    shares = []
    for row, last in zip(rows, nearest.amax(1).cpu().numpy(), strict=True):
        found = np.unique(lists[row][(lists[row] >= 0) & (lists[row] != row)])
        values = np.square(X[found]).sum(1) - 2 * X[found] @ X[row]
        near = values <= last + 1e-4 * np.square(X[row]).sum()
        shares.append(min(k - 1, int(near.sum())) / (k - 1))
    return float(np.mean(shares))


def measure(n: int, k: int, method: str, sizes: list[str], threads: int) -> Iterator[dict[str, Any]]:
    """One row for each of the sizes of groups."""
    torch.set_num_threads(threads)
    X = features(n)
    product = torch.randn(2000, 768)
    start = time.perf_counter()
    for _ in range(5):
        product @ product.T
    rate = 5 * 2 * 2000**2 * 768 / (time.perf_counter() - start) / 1e9
    on_gpu = torch.cuda.is_available() and method in ("approximate", "exact")
    for groups in sizes:
        if groups:
            from grande_gnn.graph import approximate_search as search

            search.LARGEST, search.NEAR_ONES = map(int, groups.split(":"))
        cpu, start = time.process_time(), time.perf_counter()
        lists = METHODS[method](X, k, threads)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        yield {
            "n": n, "d": X.shape[1], "k": k, "method": method, "device": "cuda" if on_gpu else "cpu", "groups": groups,
            "threads": threads, "seconds": seconds, "cpu_seconds": cpu, "recall": recall(X, lists), "peak_gib": peak,
            "gflops": rate, "load": os.getloadavg()[0],
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--k", type=int, default=40)
    parser.add_argument("--groups", nargs="+", default=[""], help="largest:near, such as 4000:400")
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
        for row in measure(options.n, options.k, options.one, options.groups, options.threads):
            write_rows([*read_rows(options.out), row], options.out)
            print(read_rows(options.out)[-1], flush=True)
        return
    for method in options.methods:
        rows = [
            row for row in read_rows(options.out) if (row["n"], row["k"]) == (str(options.n), str(options.k))
        ]
        done = [row["groups"] for row in rows if row["method"] == method]
        groups = [size for size in options.groups if size not in done]
        if not groups:
            continue
        command = [sys.executable, __file__, "--one", method, "--n", str(options.n), "--k", str(options.k)]
        command += ["--threads", str(options.threads), "--out", str(options.out), "--groups", *groups]
        try:
            subprocess.run(command, timeout=options.timeout, check=True)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            print(f"{method}: {type(error).__name__} after at most {options.timeout:.0f} s", flush=True)
    print_table(
        read_rows(options.out),
        ["n", "k", "method", "groups", "threads", "seconds", "cpu_seconds", "recall", "peak_gib", "gflops"],
    )


if __name__ == "__main__":
    main()
