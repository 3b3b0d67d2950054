"""All trainings of the paper's Table 1, at the paper's shapes: 22,000 at its 5 repetitions of 10 folds.

    python benchmarks/table1.py [--device cuda] [--datasets dogs] [--features vit] [--repeats 5]

One row for each dataset, features and model: 11 degrees (centrality and σ = 0.1 … 1.0) × folds × repetitions, its
seconds from features in memory to predictions, the graph included. A row that the result file has is not run again,
so it can be stopped and run in parts; the last line adds them up. Features are real if ``--data`` has them, otherwise
made; accuracies on made features mean nothing.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import DIMENSIONS, RESULTS, SHAPES, features_of, hardware, print_table, read_rows, write_rows
from engine import SIGMAS
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.engine import MODELS, Settings, as_degree
from grande_gnn.experiments import fold_labels, paper_folds
from grande_gnn.graph import reciprocal_knn_graph

KEY = ("dataset", "features", "model", "repetitions", "precision")


def measure(
    dataset: str, features: str, model: str, repetitions: int, device: str, precision: str, data: Path | None
) -> dict[str, Any]:
    """Train one row of the table."""
    X, y, source = features_of(dataset, DIMENSIONS[features], data)
    folds = paper_folds(y, 10)
    start = time.perf_counter()
    graph = reciprocal_knn_graph(X, 40, device=device)
    graph_seconds = time.perf_counter() - start
    degrees = [as_degree("centrality"), *(as_degree("grande", sigma) for sigma in SIGMAS)]
    label_sets = [
        LabelSet(fold_labels(y, rows), fold, repetition, degree)
        for degree in degrees
        for repetition in range(repetitions)
        for fold, (rows, _) in enumerate(folds)
    ]
    settings = Settings(model=model, device=device, precision=precision)
    outcomes = LearningProblem(X, graph, int(y.max()) + 1, degrees[0], settings).train(label_sets)
    seconds = time.perf_counter() - start
    hits = [np.mean((o.predictions == y)[s.labels < 0]) for o, s in zip(outcomes, label_sets, strict=True)]
    return {
        "dataset": dataset, "features": features, "model": model, "repetitions": repetitions,
        "precision": precision, "source": source,
        "n": len(X), "d": X.shape[1], "classes": int(y.max()) + 1, "edges": graph.n_edges,
        "trainings": len(label_sets), "graph_seconds": graph_seconds, "seconds": seconds,
        "accuracy": 100 * float(np.mean(hits)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--datasets", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--features", nargs="+", default=list(DIMENSIONS), choices=list(DIMENSIONS))
    parser.add_argument("--models", nargs="+", default=["sgc", "appnp"], choices=list(MODELS))
    parser.add_argument("--precision", default="tf32", choices=["tf32", "half", "highest"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data", type=Path, help="folder with <dataset>/features_<name>.npz")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or RESULTS / f"table1_{options.device}.csv"
    rows = read_rows(out)
    finished = {tuple(row[name] for name in KEY) for row in rows}
    for dataset in options.datasets:
        for features in options.features:
            for model in options.models:
                if (dataset, features, model, str(options.repeats), options.precision) in finished:
                    continue
                row = measure(
                    dataset, features, model, options.repeats, options.device, options.precision, options.data
                )
                rows.append({name: str(value) for name, value in (row | hardware()).items()})
                write_rows(rows, out)
                print(
                    f"{dataset} {features} {model}: {row['trainings']} trainings, {row['seconds']:.1f} s",
                    flush=True,
                )
    rows = [row for row in rows if row["precision"] == options.precision]
    print_table(rows, ["dataset", "features", "model", "trainings", "seconds"])
    seconds, trainings = (
        sum(float(row["seconds"]) for row in rows),
        sum(int(row["trainings"]) for row in rows),
    )
    print(f"{trainings} trainings in {len(rows)} rows: {seconds:.0f} s, {seconds / 60:.1f} min")


if __name__ == "__main__":
    main()
