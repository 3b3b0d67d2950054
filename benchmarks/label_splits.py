"""``grande label`` on ten splits of a labelled folder of images: accuracy, its estimate, calibration, cost.

    python benchmarks/label_splits.py data/flowers17 --extractor lite0

Split s keeps the labels of the images 8s … 8s + 7 of each class in file order and blanks the rest. So a tenth of the
labels is known, and they lie side by side, as when somebody labels a folder from its beginning. Options that this script
does not know are passed on to ``grande label``.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from common import RESULTS, print_table, write_rows


def read_labels(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["file"]: row["label"] for row in csv.DictReader(file)}


def split(labels: dict[str, str], s: int, each: int = 8) -> dict[str, str]:
    """The labels with all but the s-th ``each`` of every class blanked."""
    members = defaultdict(list)
    for file in sorted(labels):
        members[labels[file]].append(file)
    kept = {file for files in members.values() for file in files[each * s : each * (s + 1)]}
    return {file: label if file in kept else "" for file, label in labels.items()}


def expected_calibration_error(confidence: np.ndarray, right: np.ndarray, n_bins: int = 10) -> float:
    """Mean gap between confidence and accuracy over bins of equal width, weighted by their size."""
    place = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = [
        abs(confidence[place == b].mean() - right[place == b].mean()) * (place == b).mean()
        for b in np.unique(place)
    ]
    return float(sum(gaps))


def one(images: Path, labels: dict[str, str], s: int, options: list[str]) -> dict[str, object]:
    """Label split s with the command line and compare with the truth."""
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "labels.csv", Path(folder) / "out"
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["file", "label"])
            writer.writerows(split(labels, s).items())
        command = [
            sys.executable,
            "-m",
            "grande_gnn.cli",
            "label",
            str(images),
            "--labels",
            str(table),
            "-o",
            str(out),
        ]
        start = time.perf_counter()
        said = subprocess.run(command + options, check=True, capture_output=True, text=True).stdout
        seconds = time.perf_counter() - start
        with (out / "predictions.csv").open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if not row["given_label"]]
        settings = json.loads((out / "settings.json").read_text(encoding="utf-8"))
    right = np.array([row["label"] == labels[row["file"]] for row in rows], dtype=float)
    confidence = np.array([float(row["confidence"]) for row in rows])
    line = next(line for line in said.splitlines() if line.startswith("Expected accuracy"))
    numbers = [float(word) for word in line.split() if word.replace(".", "").isdigit() and "." in word]
    value, low, high = numbers[:3]
    truth = 100 * float(right.mean())
    return {
        "split": s, "accuracy": truth, "estimate": value, "low": low, "high": high, "inside": low <= truth <= high,
        "ece": expected_calibration_error(confidence, right), "seconds": seconds,
        "choice": f"{settings['graph']} {settings['n_neighbors']} {settings['normalize']} {settings['sigma']}",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path)
    parser.add_argument("--splits", type=int, nargs="*", default=list(range(10)))
    parser.add_argument("--out", type=Path, default=RESULTS / "label_splits.csv")
    options, rest = parser.parse_known_args()
    labels = read_labels(options.images / "labels.csv")
    rows = []
    for s in options.splits:
        rows.append(one(options.images, labels, s, rest))
        print(rows[-1], flush=True)
        write_rows(rows, options.out)  # what an interrupted run finished is kept
    print_table(rows, ["split", "accuracy", "estimate", "low", "high", "inside", "ece", "seconds", "choice"])
    mean = {key: float(np.mean([float(row[key]) for row in rows])) for key in ("accuracy", "ece", "seconds")}
    error = float(np.mean([abs(float(row["estimate"]) - float(row["accuracy"])) for row in rows]))
    width = max(float(row["high"]) - float(row["low"]) for row in rows)
    print(
        f"means {mean}, mean absolute error of the estimate {error:.2f}, widest interval {width:.1f} points, "
        f"{sum(bool(row['inside']) for row in rows)} of {len(rows)} inside"
    )


if __name__ == "__main__":
    main()
