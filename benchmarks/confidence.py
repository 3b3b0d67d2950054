"""What the automatic settings and the confidence give on a features file, over the ten folds of the paper's protocol.

    python benchmarks/confidence.py features.npz --out results.csv

One row per fold: accuracy with automatic and with the paper's settings, the cross-validated (held-out) accuracy, the
agreement of two models from halves of the labels, the estimate, and the calibration error with temperature alone and
with both steps.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from common import RESULTS, print_table, write_rows
from grande_gnn import GrandeClassifier
from grande_gnn.experiments import fold_labels, paper_folds
from grande_gnn.internal.features_file import load_features
from grande_gnn.internal.validation import encode_labels
from grande_gnn.labelling.assess import agreement_of_halves
from grande_gnn.labelling.confidence import Calibration, estimate_accuracy, fit_offset, fit_temperature
from label_splits import expected_calibration_error


def measure(X: np.ndarray, y: np.ndarray, fold: int, device: str) -> dict[str, object]:
    train, test = paper_folds(y)[fold]
    codes = fold_labels(y, train)
    auto = dict.fromkeys(("sigma", "graph", "n_neighbors", "normalize"), "auto")
    clf = GrandeClassifier(**auto, device=device, random_state=0).fit(X, codes)
    paper = GrandeClassifier(device=device, random_state=0).fit(X, codes)
    held_out = clf.selection_.held_out
    halves = agreement_of_halves(clf, codes)
    return row_of(
        clf.label_distributions_[test], y[test], held_out.hits.mean(), halves, fit_temperature(held_out), len(train),
        fold=fold, paper=100 * float(np.mean(paper.transduction_[test] == y[test])), choice=str(clf.choice_),
    )  # fmt: skip


def row_of(
    p: np.ndarray,
    truth: np.ndarray,
    held_out: float,
    halves: float,
    temperature: float,
    n: int,
    **rest: object,
) -> dict[str, object]:
    """The numbers of one fold from its probabilities on the test samples."""
    right = (p.argmax(axis=1) == truth).astype(float)
    first = Calibration(temperature)
    estimate = estimate_accuracy(float(first.probabilities(p).max(axis=1).mean()), halves, n)
    both = fit_offset(temperature, p, estimate.value)
    return rest | {
        "accuracy": 100 * right.mean(), "held_out": 100 * held_out, "halves": 100 * halves,
        "estimate": 100 * estimate.value, "low": 100 * estimate.low, "high": 100 * estimate.high,
        "ece_temperature": expected_calibration_error(first.probabilities(p).max(axis=1), right),
        "ece": expected_calibration_error(both.probabilities(p).max(axis=1), right),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("features", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--folds", type=int, nargs="+", default=range(10))
    parser.add_argument("--out", type=Path, default=RESULTS / "confidence.csv")
    options = parser.parse_args()
    content = load_features(options.features)
    codes, _ = encode_labels(content.labels)
    rows = []
    for fold in options.folds:
        rows.append(measure(content.features, codes, fold, options.device))
        write_rows(rows, options.out)  # what an interrupted run finished is kept
        print(rows[-1], flush=True)
    print_table(
        rows, ["fold", "accuracy", "paper", "held_out", "halves", "estimate", "ece_temperature", "ece"]
    )


if __name__ == "__main__":
    main()
