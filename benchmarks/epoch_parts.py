"""Where an epoch of APPNP on the CPU spends its time, part by part, against what this machine could do.

    python benchmarks/epoch_parts.py [--n 100000] [--threads 2] [--epochs 5]

768 features, 100 classes, 256 hidden units, about as many neighbors as in the graph dgcg. The limit of a part is the time
of its multiplications at the rate of a large float32 product, or of the bytes that it has to read and write at the rate
of a large copy, both measured in the same run:

    products   2n(2dh + 3hc) operations: features times weights and back, hidden units times weights, and back to both
    masks      features read, and written without what is dropped; the hidden units likewise
    hops       for each of 2K hops, the row of every neighbor read, and one row written per sample
    edges      for each edge both rows read (distances), and the row of every neighbor (gradient)
    rest       everything else: scaling, sums over rows, loss, optimizer; its limit is 0
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, print_table, read_rows, write_rows
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.cpu import diffusion, kernels, transform
from grande_gnn.engine.dropout import MaskStream
from grande_gnn.graph import Graph
from made_features import few_labels, made_features
from pipeline import Watch

D, CLASSES, HIDDEN, PER_CLASS = 768, 100, 256, 20
CHOSEN = 5
"""Neighbors that each sample chooses; together with those that choose it, about as many as in the graph dgcg."""


def local_graph(y: np.ndarray) -> Graph:
    """Each sample joined to some of its class, as nearest neighbors mostly are."""
    rng = np.random.default_rng(0)
    order = np.argsort(y, kind="stable")
    place = np.argsort(order)
    sources = np.repeat(np.arange(len(y)), CHOSEN)
    targets = order[np.clip(place[sources] + rng.integers(-500, 500, len(sources)), 0, len(y) - 1)]
    return Graph.from_edges(sources, targets, len(y))


def rates(threads: int) -> tuple[float, float]:
    """10⁹ operations per second of a large product, and 10⁹ bytes per second of a large copy."""
    x, w = torch.randn(16384, D), torch.randn(D, HIDDEN)
    source = torch.zeros(2**25)
    target = torch.empty_like(source)
    best = [float("inf")] * 2
    for _ in range(5):
        start = time.perf_counter()
        x @ w
        middle = time.perf_counter()
        target.copy_(source)
        best = [min(best[0], middle - start), min(best[1], time.perf_counter() - middle)]
    return 2 * 16384 * D * HIDDEN / best[0] / 1e9, 2 * source.nbytes / best[1] / 1e9


def watched() -> Watch:
    """A watch on the parts of an epoch."""
    watch = Watch(("masks", "products", "hops", "edges", "rest"))
    watch.around(transform.Inputs, "draw", "masks")
    watch.around(MaskStream, "next", "masks")
    watch.around(transform.MLPHead, "forward", "products")
    watch.around(transform.MLPHead, "backward", "products")
    watch.around(kernels.TorchKernels, "neighbor_sum", "hops")
    watch.around(diffusion.KernelDegree, "forward", "edges")
    watch.around(diffusion.KernelDegree, "backward", "edges")
    return watch


def limits(n: int, n_edges: int, hops: int, gflops: float, copied: float) -> dict[str, float]:
    """Seconds that the parts of an epoch could take on this machine."""
    row = 4 * CLASSES / 1e9 / copied  # seconds to read or write the outputs of one sample
    return {
        "masks": 4 * n * 2 * (D + HIDDEN) / 1e9 / copied,
        "products": 2 * n * (2 * D * HIDDEN + 3 * HIDDEN * CLASSES) / 1e9 / gflops,
        "hops": 2 * hops * (n_edges + n) * row,
        "edges": 2 * n_edges * row,
        "rest": 0.0,
    }


def measure(n: int, threads: int, epochs: int) -> list[dict[str, Any]]:
    torch.set_num_threads(threads)
    X, y = made_features(n, CLASSES, D)
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True) / np.sqrt(D)
    graph, codes = local_graph(y), few_labels(y, PER_CLASS)
    gflops, copied = rates(threads)
    settings = Settings(model="appnp", device="cpu", epochs=epochs)
    watch, marks = watched(), []

    def mark(_: int) -> None:
        marks.append((time.perf_counter(), time.process_time(), dict(watch.seconds)))

    with watch.stage("rest"):
        train(X, graph, [Replica(codes, 0.2, hidden=HIDDEN)], CLASSES, settings, progress=mark)
    # The first epoch also asks the system for memory, and is left out.
    (begin, cpu_begin, before), (end, cpu_end, after) = marks[0], marks[-1]
    count = epochs - 1
    seconds = {name: (after[name] - before[name]) / count for name in after}
    seconds["rest"] = (end - begin) / count - sum(seconds[name] for name in seconds if name != "rest")
    limit = limits(n, graph.n_edges, settings.hops, gflops, copied)
    base = {
        "n": n,
        "edges": graph.n_edges,
        "gflops": gflops,
        "copied_gb_per_s": copied,
        "load": os.getloadavg()[0],
    }
    parts = [
        {"part": name, "seconds": seconds[name], "limit_seconds": limit[name], "cpu_seconds": "", **base}
        for name in seconds
    ]
    whole = {"part": "epoch", "seconds": (end - begin) / count, "limit_seconds": sum(limit.values())}
    return [*parts, {**whole, "cpu_seconds": (cpu_end - cpu_begin) / count, **base}]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5, help="at least 2: the first one is left out")
    parser.add_argument("--out", type=Path, default=RESULTS / "epoch_parts.csv")
    options = parser.parse_args()
    kept = [row for row in read_rows(options.out) if row["n"] != str(options.n)]
    write_rows(kept + measure(options.n, options.threads, options.epochs), options.out)
    print_table(read_rows(options.out), ["n", "part", "seconds", "limit_seconds", "cpu_seconds"])


if __name__ == "__main__":
    main()
