"""Fifty more labels on the digits of ``grande demo``: those that the queue "Most useful next" suggests, or random ones.

    python benchmarks/suggest_more.py [--seeds 8] [--more 50]

Each seed covers scikit-learn's digits anew, labels every tenth of them, and labels all with automatic settings (SGC, as the
demo does). Then 50 more get their true label, chosen by each strategy, and all are labelled again. ``rest`` is the share of
right labels among the images that then have none, and ``wrong`` how many of the 50 had a wrong label before. Rows that
results/suggest_more.csv has already are not measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from common import RESULTS, append_rows, print_table, read_rows
from grande_gnn.cli.demo import covered
from grande_gnn.experiments import paired_interval
from grande_gnn.labelling import LabelOptions, label_features
from grande_gnn.labelling.suggest import suggest

COLUMNS = ("seed", "strategy", "more", "before", "wrong", "rest")
EVERY = 10
"""One of so many digits is labelled at first."""

STRATEGIES = ("useful", "random")


def measure(seed: int, more: int) -> Iterator[tuple[Any, ...]]:
    """One row per strategy, from the same labels."""
    digits = load_digits()
    X = covered(digits.images, seed).reshape(len(digits.target), -1).astype(np.float32)
    truth = digits.target.astype(str)
    given = np.where(np.arange(len(truth)) % EVERY == seed % EVERY, truth, "")
    first = label_features(X, given.tolist(), options=LabelOptions(model="sgc", device="cpu"))
    right = np.array(first.labels) == truth
    for strategy in STRATEGIES:
        chosen = suggest(first, more, strategy, random_state=seed)
        after = first.corrected({first.files[row]: truth[row] for row in chosen})
        rest = np.array([not label for label in after.given])
        numbers = (100 * right[given == ""].mean(), 100 * (np.array(after.labels) == truth)[rest].mean())
        before, now = (round(float(number), 2) for number in numbers)
        yield seed, strategy, more, before, int((~right[chosen]).sum()), now


def main() -> None:
    """Measure what the results do not have yet, and compare the strategies."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--more", type=int, default=50)
    options = parser.parse_args()
    path = RESULTS / "suggest_more.csv"
    for seed in range(options.seeds):
        if (str(seed), str(options.more)) not in {(row["seed"], row["more"]) for row in read_rows(path)}:
            append_rows(COLUMNS, list(measure(seed, options.more)), path)
    rows = [row for row in read_rows(path) if row["more"] == str(options.more)]
    print_table(rows, COLUMNS)
    useful, random = (
        np.array([float(row["rest"]) for row in rows if row["strategy"] == name]) for name in STRATEGIES
    )
    mean, low, high = paired_interval(useful, random)
    print(f"useful - random: {mean:+.2f} [{low:+.2f}, {high:+.2f}]")


if __name__ == "__main__":
    main()
