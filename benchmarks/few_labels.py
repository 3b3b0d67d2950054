"""How well the expected accuracy holds when a class has two or three labels only.

    python benchmarks/few_labels.py flowers17/features_lite0.npz corel5k/features_lite0.npz --splits 5 2

One row per split: labels drawn at random, the accuracy on the rest, the estimate with its interval, and the two ways to
compare halves of the labels: with each other, or with the training from all labels.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

import numpy as np

from common import RESULTS, print_table, write_rows
from grande_gnn import LabelOptions
from grande_gnn.classifier.tuning import FAVORITE
from grande_gnn.internal.features_file import load_features
from grande_gnn.labelling import label_features
from grande_gnn.labelling.assess import half_predictions


def measure(X: np.ndarray, y: np.ndarray, labels: int, split: int) -> dict[str, float]:
    rng = np.random.default_rng([labels, split])
    known = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), labels, replace=False) for c in range(y.max() + 1)]
    )
    codes = np.full(len(y), -1)
    codes[known] = y[known]
    given = ["" if code < 0 else f"{code:04d}" for code in codes]
    result = label_features(X, given, options=LabelOptions(**asdict(FAVORITE)))
    clf = result.classifier
    assert clf is not None  # just fitted
    rest = codes < 0
    one, other = half_predictions(clf.problem_, codes)
    full = clf.label_distributions_.argmax(axis=1)
    estimate = result.accuracy
    assert estimate is not None  # every class has two labels
    return {
        "labels_a_class": labels, "split": split, "accuracy": 100 * float(np.mean((full == y)[rest])),
        "estimate": 100 * estimate.value, "low": 100 * estimate.low, "high": 100 * estimate.high,
        "halves_agree": 100 * float(np.mean((one == other)[rest])),
        "halves_agree_with_all": 100 * float(np.mean([(half == full)[rest] for half in (one, other)])),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("features", type=Path, nargs="+", help="feature files with labels")
    parser.add_argument("--splits", type=int, nargs="+", default=[5], help="for each file, or one for all")
    parser.add_argument("--labels", type=int, nargs="+", default=[2, 3], help="labels per class")
    parser.add_argument("--out", type=Path, default=RESULTS / "few_labels.csv")
    options = parser.parse_args()
    splits = options.splits * len(options.features) if len(options.splits) == 1 else options.splits
    rows = []
    for path, count in zip(options.features, splits, strict=True):
        content = load_features(path)
        y = np.unique(content.labels, return_inverse=True)[1]
        for labels in options.labels:
            for split in range(count):
                row = measure(content.features, y, labels, split)
                rows.append({"features": f"{path.parent.name}/{path.stem}"} | row)
                write_rows(rows, options.out)
                print(rows[-1], flush=True)
    print_table(rows, list(rows[0]))


if __name__ == "__main__":
    main()
