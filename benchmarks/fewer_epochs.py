"""Would a training end earlier if it stopped when held-out answers stop changing, and with what loss of accuracy?

    python benchmarks/fewer_epochs.py --data DATA --sets flowers17 caltech25 --per-class 2 8
    python benchmarks/fewer_epochs.py --made 20000:100 --per-class 20 --draws 2
    python benchmarks/fewer_epochs.py --summary              # means of the rows

One APPNP on the graph dgcg 40. Each draw of labels is learned from all labels and from each half of them, with every
number of epochs of ``EPOCHS``; the learning rate stays the same, so a short training is the beginning of a long one. A row
has the accuracy after so many epochs, and ``changed``, the share of samples whose answer by a model of half of the labels
is another one than at the previous number of epochs. The rule that is tried ends the training at the first number of epochs
at which this share is small.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, print_table, read_rows, write_rows
from grande_gnn.classifier.halves import split_halves
from grande_gnn.classifier.label_weights import balanced_weights
from grande_gnn.classifier.preparation import Preparation
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.classifier.tuning import FAVORITE
from grande_gnn.engine import Settings
from grande_gnn.experiments.statistics import interval_over_folds
from labelled_sets import labelled_set, random_labels
from made_features import made_features

EPOCHS = (50, 75, 100, 125, 150, 175, 200)
SHARES = (0.001, 0.002, 0.005, 0.01)
"""Shares of changed answers that the summary tries as small ones."""


def measure(
    problem: LearningProblem, y: np.ndarray, per_class: int, draws: range, name: str
) -> list[dict[str, Any]]:
    """A row for each draw and number of epochs."""
    sets: list[LabelSet] = []
    given = [np.where(random_labels(y, per_class, draw), y, -1) for draw in draws]
    for draw, codes in enumerate(given):
        parts = [codes, *(np.where(half, codes, -1) for half in split_halves(codes))]
        sets += [
            LabelSet(part, fold, draw, weights=balanced_weights(part)) for fold, part in enumerate(parts)
        ]
    rows, before = [], None
    for epochs in EPOCHS:
        short = replace(problem, settings=replace(problem.settings, epochs=epochs))
        answers = np.stack([outcome.predictions for outcome in short.train(sets)]).reshape(
            len(given), 3, len(y)
        )
        for draw, codes in enumerate(given):
            changed = "" if before is None else float((answers[draw, 1:] != before[draw, 1:]).mean())
            rows.append({
                "set": name, "per_class": per_class, "draw": draws[draw], "epochs": epochs, "changed": changed,
                "accuracy": float((answers[draw, 0] == y)[codes < 0].mean()),
            })  # fmt: skip
        before = answers
        print(name, per_class, epochs, np.mean([row["accuracy"] for row in rows[-len(given) :]]), flush=True)
    return rows


def stopped(rows: list[dict[str, Any]], share: float) -> dict[str, Any]:
    """The row at which the rule ends one draw's training: the first one with few changed answers, or the last."""
    return next((row for row in rows if row["changed"] and float(row["changed"]) <= share), rows[-1])


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the rule saves and costs on each set: mean epochs, and points of accuracy with their 95 % interval."""
    table = []
    for name, per_class in dict.fromkeys((row["set"], row["per_class"]) for row in rows):
        mine = [row for row in rows if (row["set"], row["per_class"]) == (name, per_class)]
        draws = [[row for row in mine if row["draw"] == draw] for draw in {row["draw"] for row in mine}]
        for share in SHARES:
            ends = [stopped(draw, share) for draw in draws]
            gaps = [
                100 * (float(end["accuracy"]) - float(draw[-1]["accuracy"]))
                for end, draw in zip(ends, draws, strict=True)
            ]
            interval = interval_over_folds(gaps)
            table.append({
                "set": name, "per_class": per_class, "draws": len(draws), "changed_at_most": share,
                "epochs": float(np.mean([float(end["epochs"]) for end in ends])),
                "difference": interval.mean, "half_width": interval.high - interval.mean, "worst": min(gaps),
            })  # fmt: skip
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the sets")
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--made", nargs="*", default=[], help="samples:classes")
    parser.add_argument("--per-class", type=int, nargs="+", default=[8])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=RESULTS / "fewer_epochs.csv")
    parser.add_argument("--summary", action="store_true", help="only print the means of the rows")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = read_rows(options.out)
    for name in [] if options.summary else [*options.sets, *(f"made {size}" for size in options.made)]:
        if name.startswith("made "):
            X, y = made_features(*map(int, name.removeprefix("made ").split(":")))
        else:
            X, y = labelled_set(options.data, name)
        settings = Settings(model="appnp", device=options.device)
        problem = Preparation(np.asarray(X, np.float32), int(y.max()) + 1, settings).problem(FAVORITE)
        for per_class in options.per_class:
            done = {
                int(row["draw"]) for row in rows if (row["set"], row["per_class"]) == (name, str(per_class))
            }
            first = max(done, default=-1) + 1
            if first < options.draws:
                rows += measure(problem, y, per_class, range(first, options.draws), name)
                write_rows(rows, options.out)
                rows = read_rows(options.out)
    print_table(
        summary(read_rows(options.out)),
        ["set", "per_class", "draws", "changed_at_most", "epochs", "difference", "half_width", "worst"],
    )


if __name__ == "__main__":
    main()
