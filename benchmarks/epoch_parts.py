"""Where an epoch of APPNP on the CPU spends its time, part by part, against what this machine could do.

    python benchmarks/epoch_parts.py [--n 100000] [--threads 2] [--epochs 5]
    PYTHONPATH=old_tree/src python benchmarks/epoch_parts.py --version COMMIT       # an older version, beside the other rows

768 features, 100 classes, 256 hidden units. Each sample is joined to its nearest ones, about as many as in the graph dgcg,
so that neighbors are as far from each other in memory as those of real samples. Seconds are those of the fastest epoch,
because other work on the machine only adds to them. With one thread they are seconds of the processor, to which other work
adds little. The limit of a part is the time of its multiplications at the rate of
a large float32 product, or of the bytes that it has to read and write at the rate of a large copy, both measured in the
same run, the fastest of five:

    products   2n(2dh + 3hc) operations: features times weights and back, hidden units times weights, and back to both
    masks      features read, and written without what is dropped; the hidden units likewise, with their ReLU
    hops       for each of 2K hops, the row of every neighbor read, and one row written per sample
    edges      for each edge both rows read (distances), and the row of every neighbor (gradient)
    rest       everything else: scaling, sums over rows, loss, optimizer; its limit is 0
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, print_table, read_rows, write_rows
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.cpu import diffusion, kernels, transform
from grande_gnn.engine.dropout import MaskStream
from grande_gnn.graph import Graph
from grande_gnn.graph.approximate_search import approximate_lists
from grande_gnn.graph.kinds import GRAPHS
from made_features import few_labels, made_features
from pipeline import Watch

D, CLASSES, HIDDEN, PER_CLASS = 768, 100, 256, 20
CHOSEN, LOOKED_AT = 8, 96
"""Neighbors of each sample, itself included; they are searched in so many features, because all would take longer than
the epochs."""


def near_graph(X: np.ndarray) -> Graph:
    """Each sample joined to its nearest ones."""
    lists, _ = approximate_lists(np.ascontiguousarray(X[:, :LOOKED_AT]), CHOSEN, torch.device("cpu"))
    return GRAPHS["knn"](lists, CHOSEN)


Clock = Callable[[], float]


def rates(clock: Clock) -> tuple[float, float]:
    """10⁹ operations per second of a large product, and 10⁹ bytes per second of a large copy."""
    x, w = torch.randn(16384, D), torch.randn(D, HIDDEN)
    source = torch.zeros(2**25)
    target = torch.empty_like(source)
    best = [float("inf")] * 2
    for _ in range(5):
        start = clock()
        x @ w
        middle = clock()
        target.copy_(source)
        best = [min(best[0], middle - start), min(best[1], clock() - middle)]
    return 2 * 16384 * D * HIDDEN / best[0] / 1e9, 2 * source.nbytes / best[1] / 1e9


def watched(clock: Clock) -> Watch:
    """A watch on the parts of an epoch."""
    watch = Watch(("masks", "products", "hops", "edges", "rest"), clock)
    watch.around(transform.Inputs, "draw", "masks")
    if hasattr(transform, "relu_dropout_"):
        watch.around(transform, "relu_dropout_", "masks")
    else:  # older versions
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


def measure(n: int, threads: int, epochs: int, version: str) -> list[dict[str, Any]]:
    torch.set_num_threads(threads)
    X, y = made_features(n, CLASSES, D)
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True) / np.sqrt(D)
    graph, codes = near_graph(X), few_labels(y, PER_CLASS)
    clock = time.process_time if threads == 1 else time.perf_counter
    gflops, copied = rates(clock)
    settings = Settings(model="appnp", device="cpu", epochs=epochs)
    watch, marks = watched(clock), []

    def mark(_: int) -> None:
        marks.append((clock(), time.process_time(), dict(watch.seconds)))

    with watch.stage("rest"):
        train(X, graph, [Replica(codes, 0.2, hidden=HIDDEN)], CLASSES, settings, progress=mark)
    # The first epoch also asks the system for memory, and is left out.
    each = [later - earlier for (earlier, _, _), (later, _, _) in pairwise(marks)]
    fastest = int(np.argmin(each))
    (_, cpu_begin, before), (_, cpu_end, after) = marks[fastest : fastest + 2]
    seconds = {name: after[name] - before[name] for name in after}
    seconds["rest"] = each[fastest] - sum(seconds[name] for name in seconds if name != "rest")
    limit = limits(n, graph.n_edges, settings.hops, gflops, copied)
    base = {
        "n": n,
        "edges": graph.n_edges,
        "gflops": gflops,
        "copied_gb_per_s": copied,
        "load": os.getloadavg()[0],
        "version": version,
    }
    parts = [
        {"part": name, "seconds": seconds[name], "limit_seconds": limit[name], "cpu_seconds": "", **base}
        for name in seconds
    ]
    whole = {"part": "epoch", "seconds": each[fastest], "limit_seconds": sum(limit.values())}
    return [*parts, {**whole, "cpu_seconds": cpu_end - cpu_begin, **base}]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5, help="at least 2: the first one is left out")
    parser.add_argument("--version", default="this", help="name of the version in the rows")
    parser.add_argument("--out", type=Path, default=RESULTS / "epoch_parts.csv")
    options = parser.parse_args()
    key = (str(options.n), options.version, str(options.threads))
    kept = [row for row in read_rows(options.out) if (row["n"], row["version"], row["threads"]) != key]
    write_rows(kept + measure(options.n, options.threads, options.epochs, options.version), options.out)
    print_table(
        read_rows(options.out), ["version", "n", "threads", "part", "seconds", "limit_seconds", "cpu_seconds"]
    )


if __name__ == "__main__":
    main()
