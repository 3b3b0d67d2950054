"""Optimum-path forest: this package against opfython, side by side in one run.

    python benchmarks/opf.py [--features features.npz ...] [--folds 10] [--out FILE]

Without features, clouds of the size of Flowers17 are used instead. Folds are those of the paper's protocol: a tenth of every
class is labelled. Seconds are of all folds together; opfython is compiled before it is timed.
"""

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, print_table, write_rows
from grande_gnn.baselines.opf import OPF, OPFSemi
from grande_gnn.experiments import fold_labels, paper_folds
from grande_gnn.internal.features_file import load_features


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


def load(path: Path | None) -> tuple[np.ndarray, np.ndarray]:
    if path:
        content = load_features(path)
        return content.features, np.unique(content.labels, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    y = np.arange(1360) % 17
    return (rng.normal(size=(17, 1280))[y] * 0.15 + rng.normal(size=(1360, 1280))).astype(np.float32), y


def compare(X: np.ndarray, y: np.ndarray, folds: int) -> Iterator[dict[str, Any]]:
    """One row for each kind of forest."""
    codes = [fold_labels(y, rows) for rows, _ in paper_folds(y)[:folds]]
    for ours, reference in ((OPF(), reference_supervised), (OPFSemi(), reference_semi)):
        reference(X[:40].astype(float), np.where(np.arange(40) < 20, np.arange(40) % 2, -1))
        slow = [timed(lambda c=c, run=reference: run(X.astype(float), c)) for c in codes]
        fast = [timed(lambda c=c, system=ours: system.transduce_folds(X, c[None])[0].codes) for c in codes]
        theirs, mine = (sum(seconds for _, seconds in answers) for answers in (slow, fast))
        same = [np.mean(a == b) for (a, _), (b, _) in zip(slow, fast, strict=True)]
        yield {
            "system": type(ours).__name__, "samples": len(X), "labelled": int((codes[0] >= 0).sum()),
            "folds": len(codes), "opfython_seconds": round(theirs, 4), "seconds": round(mine, 4),
            "times_faster": round(theirs / mine, 1), "agreement": float(np.mean(same)),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=Path, nargs="+", help="feature files with labels")
    parser.add_argument("--folds", type=int, default=1, help="of the paper's ten")
    parser.add_argument("--out", type=Path, default=RESULTS / "opf.csv")
    options = parser.parse_args()
    files = options.features or [None]
    tables = [load(path) for path in files]
    out = options.out.resolve()
    os.chdir(tempfile.mkdtemp())  # opfython writes a log into the working directory
    logging.disable(logging.INFO)  # and another one onto the terminal
    rows = [
        {"features": f"{path.parent.name}/{path.stem}" if path else "made"} | row
        for path, (X, y) in zip(files, tables, strict=True)
        for row in compare(X, y, options.folds)
    ]
    write_rows(rows, out)
    print_table(rows, list(rows[0]))


if __name__ == "__main__":
    main()
