"""How time and memory of the graph and of one training grow with the number of samples.

    python benchmarks/growth.py [--device cuda] [--sizes 1000 3000 ...] [--models appnp sgc]

768 features, 100 classes, a tenth labelled. On the CPU each size runs in its own process, so that its peak memory is
its own; sizes the result file already has are not measured again. Prints the exponents b of seconds ≈ a·nᵇ between the
larger sizes and draws the plot beside the CSV. Training is timed on fewer
epochs than 200; epoch_seconds is its whole time, set-up included, over its epochs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, hardware, print_table, read_rows, write_rows
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.memory import Sizes, predicted_bytes
from grande_gnn.graph import reciprocal_knn_graph

D, CLASSES, NEIGHBORS, HIDDEN = 768, 100, 40, 256
SIZES = {
    "cpu": [1_000, 3_000, 10_000, 30_000, 100_000],
    "cuda": [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
}
EPOCHS = {"cpu": 10, "cuda": 50}
WARM_UP = 1_000
FITTED_FROM = 10_000
"""Below this, fixed costs hide the growth."""
MEASURES = ("graph_seconds", "epoch_seconds", "graph_gib", "training_gib")


def measure(n: int, models: list[str], device: str, threads: int) -> list[dict[str, Any]]:
    """One size: seconds and peak memory of its graph and of one training with each model."""
    torch.set_num_threads(threads)
    small, codes = _samples(WARM_UP)
    small_graph = reciprocal_knn_graph(small, NEIGHBORS, device=device)
    X, codes_of_all = _samples(n)
    graph, graph_seconds, graph_bytes = _watched(
        lambda: reciprocal_knn_graph(X, NEIGHBORS, device=device), device
    )
    rows = []
    for model in models:
        settings = Settings(model=model, device=device, epochs=EPOCHS[device])
        if device == "cuda":  # kernels compile once for each kind of size
            train(X, graph, [_replica(codes_of_all)], CLASSES, replace(settings, epochs=3))
        else:
            train(small, small_graph, [_replica(codes)], CLASSES, settings)

        def training(settings: Settings = settings) -> object:
            return train(X, graph, [_replica(codes_of_all)], CLASSES, settings)

        _, seconds, training_bytes = _watched(training, device)
        # The CPU's features were there before and are part of the prediction.
        training_bytes += X.nbytes if device == "cpu" else 0
        hidden = None if model == "sgc" else HIDDEN
        sizes = Sizes(n, D, CLASSES, hidden, graph.n_edges, settings.hops, 1, int(settings.drop > 0))
        rows.append({
            "n": n, "model": model, "device": device, "edges": graph.n_edges, "graph_seconds": graph_seconds,
            "epochs": settings.epochs, "epoch_seconds": seconds / settings.epochs, "graph_gib": graph_bytes / 2**30,
            "training_gib": training_bytes / 2**30, "predicted_gib": predicted_bytes(sizes, device) / 2**30,
        })  # fmt: skip
    return rows


def _measure_apart(n: int, models: list[str], device: str, threads: int) -> list[dict[str, Any]]:
    """:func:`measure` in a process of its own, which only CUDA does without: it counts its peaks itself."""
    if device == "cuda":
        return measure(n, models, device, threads)
    command = [sys.executable, __file__, "--one", str(n), "--models", *models]
    command += ["--device", device, "--threads", str(threads)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def _samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A rectified mixture of Gaussians, and label codes of which a tenth are known."""
    rng = np.random.default_rng(0)
    classes = np.arange(n) % CLASSES
    X = rng.standard_normal((n, D), dtype=np.float32)
    X += 0.5 * rng.standard_normal((CLASSES, D), dtype=np.float32)[classes]
    return np.maximum(X, 0, out=X), np.where(rng.random(n) < 0.1, classes, -1)


def _replica(codes: np.ndarray) -> Replica:
    return Replica(codes, 0.2, hidden=HIDDEN)


def _watched(work: Callable[[], Any], device: str) -> tuple[Any, float, int]:
    """A call's result, seconds and peak of memory above what was in use before."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before, start = torch.cuda.memory_allocated(), time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        return result, time.perf_counter() - start, torch.cuda.max_memory_allocated() - before
    _return_freed_memory()
    before, peak, stop = _resident(), [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.005):
            peak[0] = max(peak[0], _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    stop.set()
    watcher.join()
    return result, seconds, max(peak[0], _resident()) - before


def _return_freed_memory() -> None:
    """What earlier work freed and the C library kept would hide what the next work takes (glibc)."""
    ctypes.CDLL(None).malloc_trim(0)


def _resident() -> int:
    """Bytes of this process in memory (Linux)."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def exponent(rows: list[dict[str, Any]], name: str) -> float:
    """The slope of log(name) over log(n) among the larger sizes, by least squares; NaN for a single size."""
    large = [row for row in rows if row["n"] >= FITTED_FROM]
    large = large if len(large) > 1 else rows[-2:]
    if len(large) < 2:
        return float("nan")
    return float(np.polyfit(np.log([r["n"] for r in large]), np.log([r[name] for r in large]), 1)[0])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Seconds and memory against n, both axes logarithmic, the exponents in the legend."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    time_axes, memory_axes = figure.subplots(1, 2)
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        n = [row["n"] for row in mine]
        for axes, names in ((time_axes, MEASURES[:2]), (memory_axes, MEASURES[2:])):
            for name in names:
                if name.startswith("graph") and model != rows[0]["model"]:
                    continue  # the graph is the same for every model
                what = "graph" if name.startswith("graph") else f"{model.upper()}, {_unit(name)}"
                label = f"{what}: n^{exponent(mine, name):.2f}"
                axes.plot(n, [row[name] for row in mine], marker="o", label=label)
        memory_axes.plot(n, [r["predicted_gib"] for r in mine], ":", label=f"{model.upper()}, predicted")
    for axes, title in ((time_axes, "seconds"), (memory_axes, "peak memory, GiB")):
        axes.set(xscale="log", yscale="log", xlabel="samples", title=title)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _unit(name: str) -> str:
    return "an epoch" if name == "epoch_seconds" else "training"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--models", nargs="+", default=["appnp", "sgc"])
    parser.add_argument("--threads", type=int, default=2, help="CPU threads")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)  # what the process of one size is given
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.models, options.device, options.threads)))
        return
    out = options.out or RESULTS / f"growth_{options.device}.csv"
    rows = [_numbers(row) for row in read_rows(out)]
    for n in options.sizes or SIZES[options.device]:
        missing = [m for m in options.models if not any(row["n"] == n and row["model"] == m for row in rows)]
        if missing:
            machine = hardware() | {"threads": options.threads}
            rows += [row | machine for row in _measure_apart(n, missing, options.device, options.threads)]
            write_rows(rows, out)
            print(rows[-1], flush=True)
    rows.sort(key=lambda row: (row["model"], row["n"]))
    print_table(rows, ["n", "model", "edges", *MEASURES, "predicted_gib"])
    for model in options.models:
        mine = [row for row in rows if row["model"] == model]
        print(model, {name: round(exponent(mine, name), 2) for name in MEASURES})
    draw(rows, out.with_suffix(".png"))


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the result file with its numbers as numbers."""
    whole = {name: int(row[name]) for name in ("n", "edges", "epochs")}
    return row | whole | {name: float(row[name]) for name in (*MEASURES, "predicted_gib")}


if __name__ == "__main__":
    main()
