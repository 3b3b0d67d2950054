"""How often the interval of an audit holds the truth, and how wide it is.

    python benchmarks/audit.py --data DATA [--sets flowers17 corel5k caltech25] [--audits 2000]

Each set is labelled from a few labels per class with the favorite settings. Then audits of the other images are
simulated: the order is random, and the truth is known. An audit is stopped after a fixed number of images, at a random
moment, when its accuracy looks best, or never ("ever": the interval must hold the truth after every one of the images).
Wilson's interval at the same moment is given for comparison, as it is (for a population without end) and for what is
estimated here, the N − n images that were not audited: their own accuracy varies too, so n judged images tell as much about
them as n·(N − n)/N about a population without end. Sets that the results have are not measured again. ``DATA``
holds ``<set>/features_*.npz``, or ``<set>/images`` and ``<set>/labels.csv``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, print_table, read_rows, write_rows
from grande_gnn import LabelOptions
from grande_gnn.classifier.tuning import FAVORITE
from grande_gnn.labelling import label_features
from grande_gnn.labelling.audit import confidence_sequence, prior_of_errors
from grande_gnn.labelling.confidence import wilson_interval
from labelled_sets import labelled_set, random_labels

FIXED = (30, 60, 100, 200, 400)
FIRST = 10
"""Nobody stops before so many images."""

BLOCK = 250
"""Audits that are calculated at once."""


@cache
def wilson(hits: int, n: int, population: int | None = None) -> tuple[float, float]:
    """Wilson's interval for a population without end, or for the other images of a finite one."""
    share = 1.0 if population is None else (population - n) / population
    return wilson_interval(hits * share, n * share)


def classified(
    features: np.ndarray, y: np.ndarray, labels: int, model: str, seed: int
) -> tuple[np.ndarray, float | None]:
    """Whether each image without a given label got the right one, and the accuracy expected of them."""
    known = random_labels(y, labels, seed)
    given = np.where(known, y.astype(str), "")
    result = label_features(features, given, options=LabelOptions(model=model, **asdict(FAVORITE), seed=seed))
    right = np.array(result.labels) == y.astype(str)
    return right[~known], None if result.accuracy is None else result.accuracy.value


def stops(right: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """For each rule the moment at which each audit ends, counted from 0."""
    last = right.shape[1]
    for n in (n for n in FIXED if n <= last):
        yield f"n = {n}", np.full(len(right), n - 1)
    yield "random", rng.integers(FIRST - 1, last, len(right))
    accuracy = np.cumsum(right, axis=1) / np.arange(1, last + 1)
    yield "looks best", FIRST - 1 + accuracy[:, FIRST - 1 :].argmax(axis=1)


def simulate(
    right: np.ndarray, expected: float | None, audits: int, last: int, seed: int
) -> list[dict[str, Any]]:
    """One row per rule: how often the interval held the accuracy of the images not audited, and its mean width."""
    rng = np.random.default_rng(seed)
    n = np.arange(1, last + 1)
    found: dict[str, list[tuple[np.ndarray, ...]]] = {}
    for _ in range(0, audits, BLOCK):
        sample = np.stack([rng.permutation(right)[:last] for _ in range(min(BLOCK, audits))])
        low, high = confidence_sequence(sample, len(right), prior_of_errors(expected), 0.05)
        hits = np.cumsum(sample, axis=1)
        truth = (right.sum() - hits) / (len(right) - n)
        is_held = (low <= truth) & (truth <= high)
        width = high - low
        width_all = width * (1 - n / len(right))  # of the accuracy of all images: those audited are known
        rows = np.arange(len(sample))
        for rule, stop in stops(sample, rng):
            moment = (rows, stop)
            ends = np.array(
                [wilson(h, m) for h, m in zip(hits[moment].tolist(), n[stop].tolist(), strict=True)]
            )
            by_wilson = (ends[:, 0] <= truth[moment]) & (truth[moment] <= ends[:, 1])
            rest = np.array(
                [
                    wilson(h, m, len(right))
                    for h, m in zip(hits[moment].tolist(), n[stop].tolist(), strict=True)
                ]
            )
            by_rest = (rest[:, 0] <= truth[moment]) & (truth[moment] <= rest[:, 1])
            found.setdefault(rule, []).append((
                is_held[moment], width[moment], by_wilson, np.ptp(ends, axis=1), width_all[moment], by_rest,
                np.ptp(rest, axis=1),
            ))  # fmt: skip
        found.setdefault("ever", []).append((is_held.all(axis=1),))
    table = []
    for rule, blocks in found.items():
        means = [float(np.concatenate(values).mean()) for values in zip(*blocks, strict=True)]
        names = ("held", "width", "wilson_held", "wilson_width", "width_all", "rest_held", "rest_width")
        row: dict[str, Any] = dict(zip(names, means, strict=False))
        if "width" in row:
            row["ratio"] = row["width"] / row["wilson_width"]
            row["ratio_rest"] = row["width"] / row["rest_width"]
            row["ratio_all"] = row.pop("width_all") / row["wilson_width"]
        table.append({"rule": rule, "audits": audits} | {name: round(v, 4) for name, v in row.items()})
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["flowers17", "corel5k", "caltech25"])
    parser.add_argument("--audits", type=int, default=2000)
    parser.add_argument("--last", type=int, default=400, help="images after which every audit ends")
    parser.add_argument("--labels", type=int, default=4, help="labels per class")
    parser.add_argument("--model", default="appnp")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS / "audit.csv")
    options = parser.parse_args()
    rows = read_rows(options.out)
    for name in options.sets:
        if any(row["set"] == name and row["expected"] for row in rows):
            continue  # measured before
        rows = [row for row in rows if row["set"] != name]
        features, y = labelled_set(options.data, name)
        right, guess = classified(features, y, options.labels, options.model, options.seed)
        for expected in (None, guess):
            about = {
                "set": name, "model": options.model, "images": len(right), "accuracy": round(float(right.mean()), 4),
                "expected": "" if expected is None else round(expected, 4),
            }  # fmt: skip
            rows += [
                about | row for row in simulate(right, expected, options.audits, options.last, options.seed)
            ]
            write_rows(rows, options.out)
    print_table(
        rows,
        [
            "set",
            "accuracy",
            "expected",
            "rule",
            "held",
            "width",
            "wilson_held",
            "ratio",
            "rest_held",
            "ratio_rest",
        ],
    )


if __name__ == "__main__":
    main()
