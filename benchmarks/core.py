"""The core against what it replaces, on one machine in one run: exact neighbours, and many trainings at once.

    python benchmarks/core.py            several minutes; writes benchmarks/results/core.csv
    python benchmarks/core.py --quick    small sizes in seconds, to see that it runs; its ratios mean nothing

Neighbours: this package against scikit-learn's BallTree (the paper's; the same lists are asserted) and brute force.
Trainings: 10 folds × 5 repetitions of SGC and APPNP with the GRaNDe degree through the replica engine against the loop
of plain PyTorch Geometric models of pyg_loop.py, which is timed on 3 trainings and multiplied; equal accuracy on the
same folds is asserted. Run it on a quiet machine: the exit status is 1 when a ratio misses its target.
"""

import argparse
import csv
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
import torch
import torch_geometric
from numpy.typing import NDArray
from scipy.stats import ttest_ind
from sklearn.neighbors import BallTree, NearestNeighbors
from threadpoolctl import threadpool_limits

from grande_gnn.engine import Replica, Settings, train
from grande_gnn.experiments import fold_labels
from grande_gnn.graph import ranked_lists, reciprocal_knn_graph
from grande_gnn.internal.features_file import load_features
from pyg_loop import PygTiming, made_features, paper_splits, time_pyg

ROOT = Path(__file__).parents[1]
FLOWERS = ROOT.parent / "shared" / "data" / "flowers17" / "features_lite0.npz"
SIGMA = 0.2

Row = dict[str, Any]


def neighbours(n: int, d: int, length: int, threads: int, repeats: int = 3) -> list[Row]:
    """Ranked lists of made features: ours against BallTree and brute force."""
    features, _ = made_features(n, d, 50)
    brute_force = NearestNeighbors(n_neighbors=length, algorithm="brute").fit(features)
    contenders = (lambda: ranked_lists(features, length), lambda: brute_force.kneighbors(features))
    ranked_lists(features[:500], min(length, 100))  # warm-up of the thread pools
    NearestNeighbors(n_neighbors=50, algorithm="brute").fit(features[:500]).kneighbors(features[:500])
    times = [
        [_seconds(contender) for contender in contenders] for _ in range(repeats)
    ]  # in turns: same weather
    ours, brute = (statistics.median(column) for column in zip(*times, strict=True))
    start = time.perf_counter()
    distance, found = BallTree(features, leaf_size=200).query(features, k=length)  # uses one thread, always
    ball_tree = time.perf_counter() - start
    assert np.array_equal(_canonical(distance, found), ranked_lists(features, length)), "the lists differ"
    size = f"{n} x {d}, L = {length}"
    return [
        _row("neighbours", size, "BallTree, same lists", ours, ball_tree, 30, (threads, 1)),
        _row("neighbours", size, "scikit-learn brute force", ours, brute, 1, (threads, threads)),
    ]


def _canonical(distance: NDArray[np.float64], found: NDArray[np.int64]) -> NDArray[np.int64]:
    """Self first, then by distance, then by index."""
    distance = np.where(found == np.arange(len(found))[:, None], -1.0, distance)
    return np.take_along_axis(found, np.lexsort((found, distance), axis=1), axis=1)


def trainings(
    model: str,
    data: tuple[str, NDArray[np.float32], NDArray[np.int64]],
    repetitions: int,
    epochs: int,
    timed: int,
    threads: int,
) -> list[Row]:
    """All folds and repetitions with the GRaNDe degree: the engine against a loop."""
    name, features, labels = data
    graph = reciprocal_knn_graph(features, 40)
    splits = paper_splits(labels)
    replicas = [
        Replica(fold_labels(labels, rows), SIGMA, repetition, fold)
        for repetition in range(repetitions)
        for fold, (rows, _) in enumerate(splits)
    ]
    n_classes = int(labels.max()) + 1

    def run(replicas: list[Replica], epochs: int) -> list[NDArray[np.int64]]:
        settings = Settings(model=model, epochs=epochs, device="cpu")
        return [outcome.predictions for outcome in train(features, graph, replicas, n_classes, settings)]

    run(replicas, 2)  # warm-up
    start = time.perf_counter()
    predictions = run(replicas, epochs)
    ours = time.perf_counter() - start
    tests = [test for _, test in splits] * repetitions
    hits = [
        100 * np.mean(guess[test] == labels[test]) for guess, test in zip(predictions, tests, strict=True)
    ]
    accuracies = np.array(hits).reshape(repetitions, len(splits))
    loop = time_pyg(
        features, labels, graph, splits, model=model, sigma=SIGMA, trainings=timed, epochs=epochs,
        threads=sorted({1, threads}),
    )  # fmt: skip
    low, high = _same_accuracy(accuracies, loop)
    what, size = f"{len(replicas)} {model} grande", f"{name}, {epochs} epochs"
    row = _row(
        what, size, "loop of PyG models", ours, loop.seconds * len(replicas), 3, (threads, loop.threads)
    )
    row |= {
        "accuracy": accuracies.mean(),
        "accuracy_same_folds": accuracies[:, :timed].mean(),
        "their_accuracy_same_folds": loop.accuracies.mean(),
        "difference_low": low,
        "difference_high": high,
    }
    return [row]


def _same_accuracy(ours: NDArray[np.float64], loop: PygTiming) -> tuple[float, float]:
    """99 % interval of ours − theirs on the folds the loop trained; asserts that it holds 0.

    The folds are fixed and the same, so the noise is between repetitions: t on the repetition means.
    """
    means = ours[:, : loop.accuracies.shape[1]].mean(axis=1), loop.accuracies.mean(axis=1)
    interval = ttest_ind(*means).confidence_interval(0.99)
    low, high = float(interval.low), float(interval.high)
    assert low <= 0 <= high, (
        f"accuracies differ: ours {means[0]}, theirs {means[1]}, interval {low} to {high}"
    )
    return low, high


def _flowers(path: Path) -> tuple[str, NDArray[np.float32], NDArray[np.int64]]:
    """Flowers17, or made features of its size where the file is not there."""
    if not path.exists():
        return "made 1360 x 1280", *made_features(1360, 1280, 17)
    content = load_features(path)
    return path.parent.name, content.features, np.unique(content.labels, return_inverse=True)[1]


def _row(
    what: str, size: str, other: str, ours: float, theirs: float, target: float, threads: tuple[int, int]
) -> Row:
    return {
        "what": what, "size": size, "other": other, "seconds": ours, "other_seconds": theirs,
        "ratio": theirs / ours, "target": target, "threads": threads[0], "other_threads": threads[1],
    }  # fmt: skip


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _environment() -> Row:
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        cpu = f"{models[0]}, {len(models)} cores" if models else cpu
    modules = (np, scipy, sklearn, torch, torch_geometric)
    versions = " ".join(f"{module.__name__} {module.__version__}" for module in modules)
    return {
        "cpu": cpu, "versions": f"python {platform.python_version()} {versions}", "date": date.today().isoformat(),
    }  # fmt: skip


def _show(row: Row, quick: bool) -> None:
    verdict = "not judged" if quick else "met" if row["ratio"] >= row["target"] else "MISSED"
    print(f"{row['what']:16} {row['size']:28} {row['seconds']:8.2f} s   {row['other']:24}", end="")
    print(f" {row['other_seconds']:9.2f} s   {row['ratio']:6.1f} x (>= {row['target']}: {verdict})", end="")
    if "accuracy" in row:
        print(f"   {row['accuracy']:.2f} %; same folds {row['accuracy_same_folds']:.2f}", end="")
        print(f" against {row['their_accuracy_same_folds']:.2f}, difference in", end="")
        print(f" [{row['difference_low']:.2f}, {row['difference_high']:.2f}]", end="")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes; writes no file")
    parser.add_argument("--threads", type=int, default=2, help="threads of ours, and at most of the others")
    parser.add_argument("--features", type=Path, default=FLOWERS, help="Flowers17's; made ones where missing")
    parser.add_argument(
        "--trainings", type=int, default=3, help="trainings of the loop timed at each thread count"
    )
    parser.add_argument("--csv", type=Path, default=ROOT / "benchmarks" / "results" / "core.csv")
    options = parser.parse_args()
    quick, threads = options.quick, options.threads
    torch.set_num_threads(threads)
    environment = _environment()
    print(*environment.values(), f"{threads} threads", sep="\n")
    rows: list[Row] = []
    with threadpool_limits(threads):
        rows += neighbours(*((1000, 256, 50) if quick else (5000, 2048, 200)), threads)
    for row in rows:
        _show(row, quick)
    data = ("made 300 x 128", *made_features(300, 128, 5)) if quick else _flowers(options.features)
    repetitions, epochs, timed = (2, 20, 1) if quick else (5, 200, options.trainings)
    for model in ("sgc", "appnp"):
        rows += trainings(model, data, repetitions, epochs, timed, threads)
        _show(rows[-1], quick)
    if not quick:
        options.csv.parent.mkdir(parents=True, exist_ok=True)
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[-1] | environment, lineterminator="\n")
            writer.writeheader()
            writer.writerows(row | environment for row in rows)
        sys.exit(any(row["ratio"] < row["target"] for row in rows))


if __name__ == "__main__":
    main()
