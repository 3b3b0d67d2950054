"""Every GNN with both degrees by the paper's protocol, one row per features file, model, degree, seed and fold, into a CSV.

    python benchmarks/gnns.py flowers17=FILE.npz corel5k=FILE.npz --csv benchmarks/results/gnns.csv [--jobs 2]
    python benchmarks/gnns.py --csv benchmarks/results/gnns.csv --table

Ten folds in file order, reciprocal graph of 40 neighbors, σ = 0.2, 256 hidden units, the paper's learning rate: one seed
is one repetition of the paper. Rows that the CSV already has are skipped. ``heat`` is that of
``propagations.py``. ``--table`` prints means and paired intervals over folds from the rows, and how each
model with GRaNDe compares with APPNP with GRaNDe.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from common import append_rows, read_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODELS = ("appnp", "sgc", "gcn", "gprgnn", "gat", "sage", "heat", "ppr")
DEGREES = ("centrality", "grande")
COLUMNS = ("dataset", "model", "degree", "sigma", "seed", "fold", "accuracy", "seconds", "device")
SIGMA, FOLDS = 0.2, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", help="NAME=FILE.npz")
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        measure(options)
    print_table(read_rows(options.csv))


def measure(options: argparse.Namespace) -> None:
    """Train what the CSV lacks, in several processes."""
    done = {(row["dataset"], row["model"], row["degree"], int(row["seed"])) for row in read_rows(options.csv)}
    files = dict(pair.split("=", 1) for pair in options.data)
    wanted = [
        (name, model, degree, seed)
        for seed in range(options.seeds) for name in files for model in options.models.split(",") for degree in DEGREES
    ]  # fmt: skip
    wanted = [key for key in wanted if key not in done]
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        running = {
            pool.submit(run, files[key[0]], key[1], key[2], key[3], options.epochs, options.device): key
            for key in wanted
        }
        for future in as_completed(running):
            key = running[future]
            accuracies, seconds, device = future.result()
            sigma = SIGMA if key[2] == "grande" else ""
            rows = [
                (*key[:3], sigma, key[3], fold, f"{accuracy:.4f}", f"{seconds:.2f}", device)
                for fold, accuracy in enumerate(accuracies)
            ]
            append_rows(COLUMNS, rows, options.csv)
            print(
                *key,
                f"{sum(accuracies) / len(accuracies):.2f} in {seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )


def run(
    file: str, model: str, degree: str, seed: int, epochs: int, device: str
) -> tuple[list[float], float, str]:
    """The accuracy of each fold, the seconds of all folds, and where they were trained."""
    import torch

    from grande_gnn import evaluate
    from grande_gnn.internal.device import resolve_device
    from grande_gnn.internal.features_file import load_features
    from propagations import MODULES

    torch.set_num_threads(1)
    content, start = load_features(file), time.perf_counter()
    (result,) = evaluate(
        content.features, content.labels, model=MODULES.get(model, model), degree=degree, sigma=SIGMA, folds=FOLDS,
        repeats=1, random_state=seed, epochs=epochs, device=device,
    )  # fmt: skip
    where = resolve_device(device)
    name = torch.cuda.get_device_name() if where.type == "cuda" else "CPU"
    return result.accuracies[0].tolist(), time.perf_counter() - start, name


def print_table(rows: list[dict[str, str]]) -> None:
    """A table in Markdown: means over seeds and folds, ± between seeds, and differences paired by fold."""
    import numpy as np

    from grande_gnn.experiments.statistics import paired_interval, std_between_repetitions

    print(
        "| features | model | degree centrality | GRaNDe | paired difference, 95 % | minus APPNP | seconds per training |"
    )
    print("|---|---|---|---|---|---|---|")
    for dataset, model in dict.fromkeys((row["dataset"], row["model"]) for row in rows):
        both = pair_of(rows, (dataset, model, DEGREES[0]), (dataset, model, DEGREES[1]))
        if both is None:
            continue
        own = [r for r in rows if (r["dataset"], r["model"]) == (dataset, model)]
        seconds = np.median([float(r["seconds"]) / FOLDS for r in own])
        shown = [f"{t.mean():.2f} ± {std_between_repetitions(t):.2f}" for t in both]
        reference = pair_of(rows, (dataset, MODELS[0], DEGREES[1]), (dataset, model, DEGREES[1]))
        differences = [
            "{:+.2f} [{:+.2f}, {:+.2f}]".format(*paired_interval(pair[1], pair[0])) if pair else "–"
            for pair in (both, None if model == MODELS[0] else reference)
        ]
        print(f"| {dataset} | {model} | {' | '.join([*shown, *differences])} | {seconds:.2f} |")


def pair_of(
    rows: list[dict[str, str]], *keys: tuple[str, str, str]
) -> tuple[NDArray[np.float64], ...] | None:
    """The accuracies of two models or degrees, seeds × folds, of the seeds that both have."""
    import numpy as np

    tables: list[dict[int, list[float]]] = []
    for key in keys:
        found = [r for r in rows if (r["dataset"], r["model"], r["degree"]) == key]
        cells = {(int(r["seed"]), int(r["fold"])): float(r["accuracy"]) for r in found}
        tables.append({seed: [cells[seed, fold] for fold in range(FOLDS)] for seed, _ in cells})
    both = sorted(tables[0].keys() & tables[1].keys())
    return tuple(np.array([table[seed] for seed in both]) for table in tables) if both else None


if __name__ == "__main__":
    main()
