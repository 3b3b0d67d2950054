"""How often the interval of an audit holds the truth, and how wide it is.

    python benchmarks/audit.py [--sets flowers17 corel5k caltech25] [--audits 2000]

An audit sees of a labelling only how many images it has and how many of them are wrong, and perhaps its forecast. These come
from the labellings of expected_accuracy.py (``--labellings``): automatic settings, four random labels per class, ten draws
of labels, and as many simulated audits for each. The order is random, and the truth is known. An audit is stopped after a
fixed number of images, at a random moment, when its accuracy looks best, or never ("ever": the interval must hold the
truth after every one of the images).

Wilson's interval at the same moment is given for comparison, as it is (for a population without end) and for what is
estimated here, the N − n images that were not audited: their own accuracy varies too, so n judged images tell as much about
them as n·(N − n)/N about a population without end.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, print_table, read_rows, write_rows
from grande_gnn.labelling.audit import confidence_sequence, prior_of_errors
from grande_gnn.labelling.confidence import wilson_interval

FIXED = (30, 60, 100, 200, 400)
FIRST = 10
"""Nobody stops before so many images."""

SIZES = {"flowers17": 1360, "corel5k": 4999, "caltech25": 1293}
"""All images of the sets."""


@cache
def wilson(hits: int, n: int, population: int | None = None) -> tuple[float, float]:
    """Wilson's interval for a population without end, or for the other images of a finite one."""
    share = 1.0 if population is None else (population - n) / population
    return wilson_interval(hits * share, n * share)


@dataclass(frozen=True)
class Population:
    """The images without a given label of one labelling."""

    size: int
    right: int
    forecast: float

    @classmethod
    def of(cls, row: dict[str, str]) -> Population:
        """From a row of expected_accuracy.py."""
        size = SIZES[row["set"]] - int(row["labels"])
        return cls(size, round(float(row["truth"]) / 100 * size), float(row["value"]) / 100)


def stops(right: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """For each rule the moment at which each audit ends, counted from 0."""
    last = right.shape[1]
    for n in (n for n in FIXED if n <= last):
        yield f"n = {n}", np.full(len(right), n - 1)
    yield "random", rng.integers(FIRST - 1, last, len(right))
    accuracy = np.cumsum(right, axis=1) / np.arange(1, last + 1)
    yield "looks best", FIRST - 1 + accuracy[:, FIRST - 1 :].argmax(axis=1)


Found = dict[str, list[tuple[np.ndarray, ...]]]


def simulate(population: Population, expected: float | None, audits: int, last: int, seed: int) -> Found:
    """For each rule, whether each interval held the accuracy of the images not audited, and widths."""
    rng = np.random.default_rng(seed)
    right, size = np.arange(population.size) < population.right, population.size
    n = np.arange(1, last + 1)
    sample = np.stack([rng.permutation(right)[:last] for _ in range(audits)])
    low, high = confidence_sequence(sample, size, prior_of_errors(expected), 0.05)
    hits = np.cumsum(sample, axis=1)
    truth = (right.sum() - hits) / (size - n)
    is_held = (low <= truth) & (truth <= high)
    width = high - low
    width_all = width * (1 - n / size)  # of the accuracy of all images: those audited are known
    found: Found = {}
    for rule, stop in stops(sample, rng):
        moment = (np.arange(audits), stop)
        seen = list(zip(hits[moment].tolist(), n[stop].tolist(), strict=True))
        plain = np.array([wilson(h, m) for h, m in seen])
        rest = np.array([wilson(h, m, size) for h, m in seen])
        held_by = [(ends[:, 0] <= truth[moment]) & (truth[moment] <= ends[:, 1]) for ends in (plain, rest)]
        found[rule] = [(
            is_held[moment], width[moment], held_by[0], np.ptp(plain, axis=1), width_all[moment], held_by[1],
            np.ptp(rest, axis=1),
        )]  # fmt: skip
    return found | {"ever": [(is_held.all(axis=1),)]}


def summary(found: Found) -> list[dict[str, Any]]:
    """One row per rule: means over all audits."""
    table = []
    for rule, blocks in found.items():
        means = [float(np.concatenate(values).mean()) for values in zip(*blocks, strict=True)]
        names = ("held", "width", "wilson_held", "wilson_width", "width_all", "rest_held", "rest_width")
        row: dict[str, Any] = dict(zip(names, means, strict=False))
        if "width" in row:
            row["ratio"] = row["width"] / row["wilson_width"]
            row["ratio_rest"] = row["width"] / row["rest_width"]
            row["ratio_all"] = row.pop("width_all") / row["wilson_width"]
        audits = sum(len(block[0]) for block in blocks)
        table.append({"rule": rule, "audits": audits} | {name: round(v, 4) for name, v in row.items()})
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labellings", type=Path, default=RESULTS / "expected_accuracy.csv")
    parser.add_argument("--sets", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--case", default="r4", help="the kind of labels (label_kinds.py)")
    parser.add_argument("--audits", type=int, default=2000, help="for each set, and with or without forecast")
    parser.add_argument("--last", type=int, default=400, help="images after which every audit ends")
    parser.add_argument("--out", type=Path, default=RESULTS / "audit.csv")
    options = parser.parse_args()
    labellings = [row for row in read_rows(options.labellings) if row["case"] == options.case]
    rows: list[dict[str, Any]] = []
    for name in options.sets:
        own = [Population.of(row) for row in labellings if row["set"] == name]
        for knows in (False, True):
            found: Found = {}
            for seed, population in enumerate(own):
                expected = population.forecast if knows else None
                for rule, block in simulate(
                    population, expected, options.audits // len(own), options.last, seed
                ).items():
                    found.setdefault(rule, []).extend(block)
            about = {
                "set": name, "labels": options.case, "labellings": len(own), "images": own[0].size,
                "accuracy": round(float(np.mean([p.right / p.size for p in own])), 4),
                "forecast": round(float(np.mean([p.forecast for p in own])), 4) if knows else "",
            }  # fmt: skip
            rows += [about | row for row in summary(found)]
            write_rows(rows, options.out)
    columns = [
        "set",
        "accuracy",
        "forecast",
        "rule",
        "held",
        "width",
        "wilson_held",
        "ratio",
        "rest_held",
        "ratio_rest",
    ]
    print_table(rows, columns)  # fmt: skip


if __name__ == "__main__":
    main()
