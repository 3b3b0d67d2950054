"""How well the shares of the classes are estimated from GRaNDe's labels: estimators compared on whole and on uneven sets.

    python benchmarks/class_shares.py DATA --csv benchmarks/results/class_shares.csv [--repeats 2]

DATA holds ``<dataset>/features_lite0.npz``. Each row is one draw: ``even`` is the whole set, ``uneven-R`` a part of it
whose largest class is R times as large as its smallest. Labels are the same number for each class, or a random
sample. The columns are total variation distances to the true shares in percent: of the mean of the probabilities
(``predicted``), of the counts of labels, of both after shrinking towards equal shares (``shrunk_…``; ``shrunk_counts`` is
``images/class_shares.py``), and of equal shares.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import hardware, read_rows, write_rows
from grande_gnn import GrandeClassifier
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.images.class_shares import class_shares
from grande_gnn.labelling.assess import assess

AUTO = dict.fromkeys(("graph", "n_neighbors", "normalize", "sigma"), "auto")
RATIOS = (1, 2, 4, 10)


def uneven(y: np.ndarray, ratio: float, rng: np.random.Generator) -> np.ndarray:
    """Rows of a part whose class sizes fall geometrically, in a random order of the classes."""
    n_classes = y.max() + 1
    kept = ratio ** (-rng.permutation(n_classes) / (n_classes - 1))
    rows = [np.flatnonzero(y == c) for c in range(n_classes)]
    return np.sort(
        np.concatenate(
            [rng.choice(r, max(4, int(k * len(r))), replace=False) for r, k in zip(rows, kept, strict=True)]
        )
    )


def label(y: np.ndarray, per_class: int, at_random: bool, rng: np.random.Generator) -> np.ndarray:
    """Label codes: ``per_class`` of each class, or as many at random and at least one of each class."""
    classes = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    each = 1 if at_random else per_class
    rows = np.concatenate([rng.choice(r, min(each, len(r) // 2), replace=False) for r in classes])
    if at_random:
        others = np.setdiff1d(np.arange(len(y)), rows)
        rows = np.concatenate([rows, rng.choice(others, (per_class - 1) * len(classes), replace=False)])
    return fold_labels(y, rows)


def shrink(shares: np.ndarray, error: float) -> np.ndarray:
    """The formula of ``images/class_shares.py``, for any shares."""
    equal = np.full(len(shares), 1 / len(shares))
    beyond = shares - equal
    return equal + max(0.0, 1 - error**2 * (shares @ shares) / max(beyond @ beyond, 1e-12)) * beyond


def measure(X: np.ndarray, y: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """The accuracy of the labels and the distance of each estimate of the shares."""
    names = [f"{code:03d}" if code >= 0 else "" for code in codes]
    clf = GrandeClassifier("sgc", random_state=0, **AUTO).fit(X, names)
    error = 1 - assess(clf, names, [str(i) for i in range(len(y))]).accuracy.value
    P = torch.from_numpy(clf.label_distributions_)
    n_classes = P.shape[1]
    predicted = class_shares(P, "predicted").numpy().astype(float)
    counts = class_shares(P, error=0.0).numpy().astype(float)
    estimates = {
        "predicted": predicted, "counts": counts, "shrunk_predicted": shrink(predicted, error),
        "shrunk_counts": class_shares(P, error=error).numpy(), "equal": np.full(n_classes, 1 / n_classes),
    }  # fmt: skip
    truth = np.bincount(y, minlength=n_classes) / len(y)
    right = P.argmax(1).numpy() == y
    return {
        "accuracy": round(100 * float(right[codes < 0].mean()), 2), "expected_error": round(100 * error, 2),
        **{name: round(50 * float(np.abs(s - truth).sum()), 3) for name, s in estimates.items()},
    }  # fmt: skip


def draws(name: str, y: np.ndarray, repeats: int) -> Any:
    """The sets and label codes: what is drawn, the rows of the set, and the codes of its labels."""
    if name == "flowers17":
        for fold, (train, _) in enumerate(paper_folds(y)):
            yield {"set": "even", "labels": "fold", "draw": fold}, np.arange(len(y)), fold_labels(y, train)
    for draw in range(repeats):
        for ratio in RATIOS:
            for at_random in (False, True):
                rng = np.random.default_rng([draw, ratio, at_random])
                rows = uneven(y, ratio, rng) if ratio > 1 else np.arange(len(y))
                kind = {
                    "set": f"uneven-{ratio}" if ratio > 1 else "even",
                    "labels": "random" if at_random else "per class", "draw": draw,
                }  # fmt: skip
                yield kind, rows, label(y[rows], 4, at_random, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["flowers17"])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    rows = read_rows(options.csv)
    finished = {(r["dataset"], r["set"], r["labels"], str(r["draw"])) for r in rows}
    for name in options.datasets:
        with np.load(options.data / name / "features_lite0.npz") as archive:
            X, y = archive["features"].astype(np.float32), archive["labels"].astype(np.int64)
        for kind, chosen, codes in draws(name, y, options.repeats):
            if (name, kind["set"], kind["labels"], str(kind["draw"])) in finished:
                continue
            row = {"dataset": name, **kind, **measure(X[chosen], y[chosen], codes)}
            print(row, flush=True)
            rows.append(row | hardware())
            write_rows(rows, options.csv)


if __name__ == "__main__":
    main()
