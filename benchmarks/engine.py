"""The replica engine against the loop of PyTorch Geometric models and against the hardware's limit.

python benchmarks/engine.py                      all rows that the device allows
python benchmarks/engine.py --rows flowers-appnp flowers-sgc --out results.csv
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, SHAPES, features_of, print_table, write_rows
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.memory import Sizes, predicted_bytes
from grande_gnn.experiments import fold_labels, paper_folds
from grande_gnn.graph import Graph, reciprocal_knn_graph

SIGMAS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


@dataclass(frozen=True)
class Row:
    """One measured case: a dataset's shape, a model, and how many trainings."""

    name: str
    dataset: str
    d: int
    model: str
    sigmas: int
    folds: int = 10
    repetitions: int = 5

    @property
    def trainings(self) -> int:
        return self.sigmas * self.folds * self.repetitions


GPU_ROWS = [
    Row("flowers-appnp", "flowers17", 2048, "appnp", 10),
    Row("flowers-sgc", "flowers17", 2048, "sgc", 10),
    *(
        Row(f"{dataset}-{model}", dataset, 2048, model, 1)
        for dataset in ("corel5k", "pets", "cub200", "dogs")
        for model in ("appnp", "sgc")
    ),
]
CPU_ROWS = [
    Row("flowers-appnp", "flowers17", 1280, "appnp", 1),
    Row("flowers-sgc", "flowers17", 1280, "sgc", 1),
    Row("one-appnp", "flowers17", 1280, "appnp", 1, folds=1, repetitions=1),
    Row("one-sgc", "flowers17", 1280, "sgc", 1, folds=1, repetitions=1),
]


@dataclass(frozen=True)
class Ceilings:
    """Rates of this device, measured: FLOP/s of the head's products, bytes/s of a copy and of cached reads."""

    gemm: float
    copy: float
    cache: float


def limit_seconds(row: Row, graph: Graph, ceilings: Ceilings, hidden: int = 256, epochs: int = 200) -> float:
    """The least time the trainings of ``row`` can take on a device with these ceilings.

    Products of the head, forward and weight gradient (and the second layer's input gradient), over the GEMM
    rate; parameters, gradients and Adam's two moments, each read and written once but the gradient only
    read, over the copy rate; K hops and one edge pass, forward and backward, each reading edges × classes floats,
    over the cached read rate.
    """
    n, c = SHAPES[row.dataset]
    K = {"sgc": 2, "appnp": 10}[row.model]
    if row.model == "sgc":
        flops, parameters = 2 * 2 * n * row.d * c, row.d * c + c
    else:
        flops = 2 * (2 * n * row.d * hidden + 3 * n * hidden * c)
        parameters = row.d * hidden + hidden + hidden * c + c
    optimizer_bytes = 7 * 4 * parameters
    edge_bytes = (K + 1) * 2 * graph.n_edges * c * 4
    each = flops / ceilings.gemm + optimizer_bytes / ceilings.copy + edge_bytes / ceilings.cache
    return each * row.trainings * epochs


def measure_ceilings(row: Row, device: str) -> Ceilings:
    """Time a product of the head's shape, a copy, and repeated reads of a buffer that fits the cache."""
    n, c = SHAPES[row.dataset]
    width = (
        (c if row.model == "sgc" else 256) * row.trainings // (1 if row.model == "sgc" else row.repetitions)
    )
    width = -(-width // 16) * 16  # rows that start aligned, as the library likes them
    X, W = torch.randn(n, row.d, device=device), torch.randn(row.d, width, device=device)
    gemm = 2 * n * row.d * width / seconds_of(lambda: X @ W, device)
    big = torch.randn(2**28 if device == "cuda" else 2**25, device=device)
    other = torch.empty_like(big)
    copy = 2 * big.numel() * 4 / seconds_of(lambda: other.copy_(big), device)
    return Ceilings(gemm, copy, cached_read_rate(device))


def cached_read_rate(device: str) -> float:
    """Bytes a second of reads that hit the L2 cache (CUDA) or the last-level cache (CPU)."""
    if device == "cpu":
        x = torch.randn(2**20)  # 4 MiB
        return x.numel() * 4 / seconds_of(lambda: x.sum(), device)
    from l2_read import read_repeatedly

    x = torch.randn(2**22, device=device)  # 16 MiB
    out = torch.empty(132 * 8, device=device)
    return read_repeatedly(x, out, 16) / seconds_of(lambda: read_repeatedly(x, out, 16), device)


def seconds_of(function: Any, device: str, repeat: int = 20) -> float:
    """Median seconds of a call, after warming up."""
    torch.backends.cuda.matmul.allow_tf32 = True
    times = []
    for i in range(repeat + 3):
        _wait(device)
        start = time.perf_counter()
        function()
        _wait(device)
        if i >= 3:
            times.append(time.perf_counter() - start)
    return float(np.median(times))


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def engine_seconds(
    row: Row, X: np.ndarray, y: np.ndarray, graph: Graph, device: str, precision: str
) -> tuple[float, float, float]:
    """Seconds of all trainings of ``row``, their mean accuracy, and peak bytes on CUDA."""
    folds = paper_folds(y, 10)[: row.folds]
    replicas = [
        Replica(fold_labels(y, rows), sigma, r, f)
        for sigma in (SIGMAS[: row.sigmas] if row.sigmas > 1 else [0.2])
        for r in range(row.repetitions)
        for f, (rows, _) in enumerate(folds)
    ]
    n_classes = int(y.max()) + 1
    # The warm-up has the real sizes, so that kernels compile and memory is in place.
    settings = Settings(model=row.model, device=device, precision=precision)
    train(X, graph, replicas, n_classes, replace(settings, epochs=4))
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    _wait(device)
    start = time.perf_counter()
    outcomes = train(X, graph, replicas, n_classes, settings)
    seconds = time.perf_counter() - start
    hits = [np.mean((o.predictions == y)[r.labels < 0]) for o, r in zip(outcomes, replicas, strict=True)]
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else float("nan")
    return seconds, 100 * float(np.mean(hits)), peak


def predicted_gib(row: Row, graph: Graph, precision: str, device: str) -> float:
    """The engine's prediction of its peak on CUDA, where none of the rows is cut into batches."""
    if device == "cpu":
        return float("nan")
    settings = Settings(model=row.model)
    n, c = SHAPES[row.dataset]
    hidden, repetitions = (256, row.repetitions) if row.model == "appnp" else (None, 0)
    half = precision == "half"
    sizes = Sizes(n, row.d, c, hidden, graph.n_edges, settings.hops, row.trainings, repetitions, half=half)
    return predicted_bytes(sizes, device) / 2**30


def measure(
    row: Row, device: str, precisions: list[str], with_pyg: bool, data: Path | None, rounds: int
) -> list[dict[str, Any]]:
    """One result for each precision, all beside the same PyG loop."""
    n, c = SHAPES[row.dataset]
    X, y, source = features_of(row.dataset, row.d, data)
    graph = reciprocal_knn_graph(X, 40, device=device)
    ceilings = measure_ceilings(row, device)
    engines: dict[str, list[tuple[float, float, float]]] = {precision: [] for precision in precisions}
    loops = []
    for _ in range(rounds):
        for precision, timings in engines.items():
            timings.append(engine_seconds(row, X, y, graph, device, precision))
        if with_pyg:
            from pyg_loop import time_pyg

            folds = paper_folds(y, 10)
            loops.append(time_pyg(X, y, graph, folds, model=row.model, device=device, trainings=3))
    limit = limit_seconds(row, graph, ceilings)
    results = []
    for precision, timings in engines.items():
        seconds, accuracy, peak = sorted(timings)[len(timings) // 2]
        result: dict[str, Any] = {
            "row": row.name, "precision": precision, "features": source, "n": n, "d": row.d, "classes": c,
            "model": row.model, "trainings": row.trainings, "edges": graph.n_edges, "seconds": seconds,
            "ms_per_training": 1e3 * seconds / row.trainings, "limit_seconds": limit, "of_limit": limit / seconds,
            "accuracy": accuracy, "peak_gib": peak / 2**30,
            "predicted_gib": predicted_gib(row, graph, precision, device), "gemm_tflops": ceilings.gemm / 1e12,
            "copy_tb_s": ceilings.copy / 1e12, "cache_tb_s": ceilings.cache / 1e12,
        }  # fmt: skip
        if with_pyg:
            loop = sorted(loops, key=lambda timing: timing.seconds)[len(loops) // 2]
            result |= {"pyg_ms_per_training": 1e3 * loop.seconds, "pyg_threads": loop.threads}
            result["ratio"] = loop.seconds * row.trainings / seconds
        results.append(result)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", nargs="*")
    parser.add_argument(
        "--data", type=Path, help="folder with <dataset>/features_<name>.npz; without it features are made"
    )
    parser.add_argument("--precisions", nargs="+", default=["tf32"], choices=["tf32", "half", "highest"])
    parser.add_argument(
        "--rounds", type=int, default=3, help="both sides are timed in turn, and their medians compared"
    )
    parser.add_argument("--no-pyg", action="store_true")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = GPU_ROWS if options.device == "cuda" else CPU_ROWS
    results = []
    for row in rows:
        if options.rows and row.name not in options.rows:
            continue
        results += measure(
            row, options.device, options.precisions, not options.no_pyg, options.data, options.rounds
        )
        print(*results[-len(options.precisions) :], sep="\n", flush=True)
        write_rows(results, options.out or RESULTS / f"engine_{options.device}.csv")
    print_table(
        results,
        [
            "row",
            "precision",
            "trainings",
            "seconds",
            "ms_per_training",
            "pyg_ms_per_training",
            "ratio",
            "of_limit",
            "accuracy",
        ],
    )


if __name__ == "__main__":
    main()
