"""Accuracy with approximate neighbors minus accuracy with exact ones, paired over random draws of labels.

    python benchmarks/approximate_accuracy.py --made 100000:100 --per-class 20
    python benchmarks/approximate_accuracy.py --features DATA/corel5k/features_lite0.npz --per-class 8 --largest 500

Both searches are forced. All settings are automatic; each draw of labels is learned with either list of neighbors. One
row per draw is appended, so that a run can be stopped and resumed. Small data would be one group of the approximate search,
hence exact: `--largest` makes the groups as small, compared with the data, as they are for a million samples. `--alone`
trains one graph (dgcg 40) instead of the committee, all draws in one batch, which takes seconds for the small sets.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, print_table, read_rows, write_rows
from grande_gnn import GrandeClassifier
from grande_gnn.classifier.preparation import Preparation
from grande_gnn.classifier.problem import LabelSet
from grande_gnn.classifier.tuning import FAVORITE
from grande_gnn.engine import Settings
from grande_gnn.experiments.statistics import interval_over_folds
from grande_gnn.graph import approximate_search
from made_features import few_labels, made_features

AUTO = {"graph": "auto", "n_neighbors": "auto", "normalize": "auto", "sigma": "auto"}
SEARCHES = ("exact", "approximate")
KEY = ("features", "model", "per_class", "device")
"""What the draws of one line of the summary have in common; the search of a CPU is another one than that of a GPU."""


def fitted(
    X: np.ndarray, codes: np.ndarray, backend: str, model: str, device: str
) -> tuple[GrandeClassifier, float]:
    """A classifier whose neighbors were searched with one backend, and the seconds of the whole fit."""
    start = time.perf_counter()
    clf = GrandeClassifier(model, **AUTO, device=device, random_state=0).fit(X, codes, search=backend)
    return clf, time.perf_counter() - start


def alone(name: str, X: np.ndarray, y: np.ndarray, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row per draw, with one graph instead of a committee."""
    draws = [few_labels(y, options.per_class, draw) for draw in range(options.draws)]
    settings = Settings(
        model=options.model, epochs=options.epochs, lr=1e-3 * 200 / options.epochs, device=options.device
    )
    hits: dict[str, list[float]] = {}
    recall = None
    for backend in SEARCHES:
        preparation = Preparation(X, int(y.max()) + 1, settings, search=backend)
        outcomes = preparation.problem(FAVORITE).train([LabelSet(codes) for codes in draws])
        hits[backend] = [
            float((outcome.predictions == y)[codes < 0].mean())
            for outcome, codes in zip(outcomes, draws, strict=True)
        ]
        recall = preparation.neighbors(FAVORITE).recall
    return [
        {
            "features": name, "model": f"{options.model} alone", "per_class": options.per_class, "draw": draw,
            "device": options.device, "epochs": options.epochs, "exact": exact, "approximate": approximate,
            "recall": "" if recall is None else recall.value, "difference": approximate - exact,
        }
        for draw, (exact, approximate) in enumerate(zip(*hits.values(), strict=True))
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--made", help="samples:classes")
    parser.add_argument("--features", type=Path)
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--largest", type=int, help="samples of a group of the approximate search")
    parser.add_argument("--model", default="appnp")
    parser.add_argument("--alone", action="store_true", help="one graph instead of the committee")
    parser.add_argument("--epochs", type=int, default=200, help="with --alone; the learning rate follows")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=RESULTS / "approximate_accuracy.csv")
    options = parser.parse_args()
    if options.largest:
        approximate_search.LARGEST = options.largest
        approximate_search.NEAR_ONES = max(20, options.largest // 10)
    name, X, y = load(options)
    rows = read_rows(options.out)
    done = {tuple(row[column] for column in (*KEY, "draw")) for row in rows}
    if options.alone:
        if (name, f"{options.model} alone", str(options.per_class), options.device, "0") not in done:
            rows += alone(name, X, y, options)
            write_rows(rows, options.out)
        options.draws = 0
    models: dict[str, GrandeClassifier] = {}
    for draw in range(options.draws):
        if (name, options.model, str(options.per_class), options.device, str(draw)) in done:
            continue
        codes = few_labels(y, options.per_class, draw)
        row: dict[str, Any] = {
            "features": name,
            "per_class": options.per_class,
            "draw": draw,
            "device": options.device,
        }
        for backend in SEARCHES:
            if backend in models:
                clf = models[backend].refit(codes)
            else:
                clf, row[f"{backend}_fit_seconds"] = fitted(X, codes, backend, options.model, options.device)
                models[backend] = clf
            row[backend] = float((clf.transduction_ == y)[codes < 0].mean())
            if clf.neighbors_.recall is not None:
                row["recall"] = clf.neighbors_.recall.value
        rows.append(row | {"difference": row["approximate"] - row["exact"]})
        write_rows(rows, options.out)
        print(rows[-1], flush=True)
    print_table(
        summary(read_rows(options.out)),
        [*KEY, "draws", "exact", "recall", "difference", "half_width"],
    )


def load(options: argparse.Namespace) -> tuple[str, np.ndarray, np.ndarray]:
    """The name, features and classes of the data."""
    if options.made:
        n, c = map(int, options.made.split(":"))
        return f"made {n}", *made_features(n, c)
    with np.load(options.features) as archive:
        return (
            options.features.parent.name,
            archive["features"].astype(np.float32),
            archive["labels"].astype(np.int64),
        )


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean paired difference in points, with half the width of its 95 % interval."""
    table = []
    for key in dict.fromkeys(tuple(row[name] for name in KEY) for row in rows):
        mine = [row for row in rows if tuple(row[name] for name in KEY) == key]
        gaps = [100 * float(row["difference"]) for row in mine]
        interval = interval_over_folds(gaps)
        table.append({
            **dict(zip(KEY, key, strict=True)), "draws": len(gaps),
            "exact": 100 * statistics.mean(float(row["exact"]) for row in mine),
            "recall": statistics.mean(float(row["recall"]) for row in mine),
            "difference": interval.mean, "half_width": interval.high - interval.mean,
        })  # fmt: skip
    return table


if __name__ == "__main__":
    main()
