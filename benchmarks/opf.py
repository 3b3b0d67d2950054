"""Optimum-path forest: this package against opfython, side by side in one run.

    python benchmarks/opf.py [--features features.npz] [--csv FILE]

Without features, clouds of the size of Flowers17 stand in. The first tenth of every class is labelled, as in the
first fold of the paper's protocol. opfython is compiled before it is timed.
"""

import argparse
import csv
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grande_gnn.baselines.opf import OPF, OPFSemi
from grande_gnn.experiments import fold_labels, paper_folds


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def reference_supervised(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    from opfython.models import SupervisedOPF

    model = SupervisedOPF()
    model.fit(X[codes >= 0], codes[codes >= 0] + 1)
    return np.array(model.predict(X)) - 1


def reference_semi(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    from opfython.models import SemiSupervisedOPF

    known = codes >= 0
    model = SemiSupervisedOPF()
    model.fit(X[known], codes[known] + 1, X[~known])
    answers = np.empty(len(X), dtype=int)
    answers[np.r_[np.flatnonzero(known), np.flatnonzero(~known)]] = [
        node.predicted_label - 1 for node in model.subgraph.nodes
    ]
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=Path, help="an .npz with arrays `features` and `labels`")
    parser.add_argument("--csv", type=Path, help="write the rows here too")
    options = parser.parse_args()
    if options.features:
        archive = np.load(options.features)
        X, y = archive["features"].astype(np.float32), archive["labels"]
    else:
        rng = np.random.default_rng(0)
        y = np.arange(1360) % 17
        X = (rng.normal(size=(17, 1280))[y] * 0.15 + rng.normal(size=(1360, 1280))).astype(np.float32)
    codes = fold_labels(y, paper_folds(y)[0][0])
    destination = options.csv.resolve() if options.csv else None
    os.chdir(tempfile.mkdtemp())  # opfython writes a log into the working directory
    logging.disable(logging.INFO)  # and another one onto the terminal

    rows = []
    for ours, reference in ((OPF(), reference_supervised), (OPFSemi(), reference_semi)):
        reference(X[:40].astype(float), np.where(np.arange(40) < 20, np.arange(40) % 2, -1))
        slow, slow_seconds = timed(lambda run=reference: run(X.astype(float), codes))
        fast, fast_seconds = timed(lambda system=ours: system.transduce_folds(X, codes[None])[0].codes)
        row = {
            "system": type(ours).__name__, "samples": len(X), "labelled": int((codes >= 0).sum()),
            "opfython_seconds": round(slow_seconds, 4), "seconds": round(fast_seconds, 4),
            "times_faster": round(slow_seconds / fast_seconds, 1), "agreement": float((slow == fast).mean()),
        }  # fmt: skip
        rows.append(row)
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    if destination:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with destination.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
