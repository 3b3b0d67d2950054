"""What a labelling says about itself, compared with the truth: expected accuracy, calibration, label sets, flags.

    python benchmarks/expected_accuracy.py --data data --device cuda --jobs 8
    python benchmarks/expected_accuracy.py --summary

One row per set, kind of labels (``label_kinds.py``) and draw. Finished rows are kept, and a second run continues.

truth, value, low, high   accuracy on the images without a label, and what was expected, in percent
ece, ece_class            expected calibration error, 15 bins of equal mass; mean gap of confidence and accuracy of the
                          images that receive a class, weighted by their number
covered, set_size         share of images whose label set holds the truth, for a coverage of 90 %; mean size of the sets
flags, precision, recall  suspicious labels; how many of them are wrong, and how many of the wrong ones they are
auroc, strange_*          score of images whose class nobody labelled against all others; the same of its flag
contradicted              whether the test says that the labels are no random sample
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from common import RESULTS, measure_jobs, print_table, read_rows
from grande_gnn import LabelOptions
from grande_gnn.graph import Neighbors
from grande_gnn.labelling import Labelling, label_features
from grande_gnn.labelling.confidence import expected_calibration_error
from label_kinds import KINDS, draw_labels
from labelled_sets import labelled_set

COVERAGE = 0.9


def measure(data: Path, name: str, case: str, draw: int, model: str, device: str) -> dict[str, object]:
    """The row of one draw of labels."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    X, y = labelled_set(data, name)
    X = np.asarray(X, dtype=np.float32)
    codes = draw_labels(case, y, X, Neighbors(X, device=device).lists(40), draw)
    names = np.array([f"class {c:03d}" for c in range(y.max() + 1)])
    given = [str(names[code]) if code >= 0 else "" for code in codes]
    start = time.perf_counter()
    options = LabelOptions(model=model, coverage=COVERAGE, device=device, seed=draw)
    result = label_features(X, given, options=options)
    row = {"set": name, "case": case, "draw": draw, "model": model, "labels": int((codes >= 0).sum())}
    row |= compare(result, names[y], codes >= 0)
    return row | {"seconds": round(time.perf_counter() - start, 1), "device": device}


def compare(result: Labelling, truth: np.ndarray, known: np.ndarray) -> dict[str, object]:
    """What the labelling says about itself, and what is true."""
    free = ~known
    labels, given = np.array(result.labels), np.array(result.given)
    right = (labels == truth)[free].astype(float)
    confidence = result.confidence[free]
    said, sets = result.accuracy, result.label_sets
    assert said is not None
    assert sets is not None
    value, low, high, accuracy = (
        round(100 * number, 2) for number in (said.value, said.low, said.high, float(right.mean()))
    )
    covered = [truth[row] in sets[row] for row in np.flatnonzero(free)]
    row: dict[str, object] = {
        "truth": accuracy, "value": value, "low": low, "high": high, "inside": low <= accuracy <= high,
        "width": round(high - low, 2), "ece": round(expected_calibration_error(confidence, right), 4),
        "ece_class": round(class_gap(labels[free], confidence, right), 4),
        "covered": round(float(np.mean(covered)), 4),
        "set_size": round(float(np.mean([len(sets[row]) for row in np.flatnonzero(free)])), 3),
        "sets_by": result.sets_made.method if result.sets_made else "",
        "contradicted": bool(result.sets_made and result.sets_made.warning),
    }  # fmt: skip
    flagged = np.zeros(len(truth), dtype=bool)
    flagged[[suspicion.row for suspicion in result.suspicions]] = True
    row |= found(flagged, known & (given != truth), "flags", "precision", "recall")
    unknown = ~np.isin(truth, given[known])
    if unknown.any():
        assert result.unfamiliar is not None
        assert result.is_unfamiliar is not None
        row["auroc"] = round(float(roc_auc_score(unknown[free], result.unfamiliar[free])), 4)
        row |= found(result.is_unfamiliar, unknown, "strange", "strange_precision", "strange_recall")
    return row


def class_gap(labels: np.ndarray, confidence: np.ndarray, right: np.ndarray) -> float:
    """Mean gap of confidence and accuracy over the classes that images receive, weighted by their number."""
    gaps = [
        abs(float(confidence[labels == c].mean() - right[labels == c].mean())) * float(np.mean(labels == c))
        for c in np.unique(labels)
    ]
    return float(sum(gaps))


def found(flagged: np.ndarray, wanted: np.ndarray, *columns: str) -> dict[str, object]:
    """Number of flags, and their precision and recall where they are defined."""
    both = int((flagged & wanted).sum())
    n, precision, recall = columns
    return {
        n: int(flagged.sum()),
        precision: round(both / int(flagged.sum()), 3) if flagged.any() else "",
        recall: round(both / int(wanted.sum()), 3) if wanted.any() else "",
    }


def summary(rows: list[dict]) -> None:
    """Means for each set and kind of labels, and the numbers over all of them."""
    places = dict.fromkeys((row["set"], row["case"]) for row in rows)
    columns = ("labels", "truth", "value", "width", "ece", "ece_class", "covered", "set_size", "precision", "recall",
               "auroc")  # fmt: skip
    table = []
    for name, case in places:
        mine = [row for row in rows if (row["set"], row["case"]) == (name, case)]
        means = {column: mean_of(mine, column) for column in columns}
        inside = f"{sum(is_true(row['inside']) for row in mine)} of {len(mine)}"
        table.append({"set": name, "case": case, "inside": inside} | means)
    print_table(table, ["set", "case", "inside", *columns])
    inside = [is_true(row["inside"]) for row in rows]
    middle = [float(row["width"]) for row in rows if 100 <= int(row["labels"]) <= 150]
    print(f"the interval holds the truth in {sum(inside)} of {len(inside)} draws")
    for name in dict.fromkeys(row["set"] for row in rows):
        mine = [is_true(row["inside"]) for row in rows if row["set"] == name]
        print(f"  {name}: {sum(mine)} of {len(mine)}")
    if middle:
        print(f"median width with 100 to 150 labels: {np.median(middle):.1f} points of {len(middle)} draws")
    random = [row for row in rows if row["case"] in ("r2", "r4", "r8")]
    if random:
        print(
            f"random labels, at least 2 per class: calibration error {mean_of(random, 'ece'):.3f} on average, "
            f"{max(float(row['ece']) for row in random):.3f} at most; sets hold {100 * mean_of(random, 'covered'):.1f} % of "
            f"the truths with {mean_of(random, 'set_size'):.2f} labels"
        )


def is_true(value: object) -> bool:
    return str(value) == "True"


def mean_of(rows: list[dict], column: str) -> float:
    values = [float(row[column]) for row in rows if row.get(column) not in (None, "")]
    return float(np.mean(values)) if values else float("nan")


def measure_row(*job: object) -> list[dict]:
    """The row of :func:`measure` as a list, as other scripts return their rows."""
    return [measure(*job)]  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with one folder per set")
    parser.add_argument("--sets", nargs="+", default=["flowers17", "corel5k", "caltech25"])
    parser.add_argument("--cases", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--model", default="appnp")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS / "expected_accuracy.csv")
    parser.add_argument("--summary", action="store_true", help="print the table of the rows there are")
    options = parser.parse_args()
    rows: list[dict] = list(read_rows(options.out))
    if options.summary:
        summary(rows)
        return
    done = {(row["set"], row["case"], int(row["draw"]), row["model"]) for row in rows}
    todo = [
        (options.data, name, case, draw, options.model, options.device)
        for draw, name, case in itertools.product(range(options.draws), options.sets, options.cases)
        if (name, case, draw, options.model) not in done
    ]
    measure_jobs(
        measure_row, todo, rows, options.out, options.jobs, ("set", "case", "draw", "truth", "low", "high")
    )
    summary(rows)


if __name__ == "__main__":
    main()
