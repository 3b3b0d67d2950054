"""Draw the accuracy against the number of labels for each strategy: docs/suggest.png from results/suggest.csv."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

from common import RESULTS, read_rows

mpl.use("Agg")

import matplotlib.pyplot as plt

TITLES = {"grande": "GRaNDe", "logreg": "logistic regression"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=RESULTS / "suggest.csv")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "suggest.png")
    parser.add_argument("--model", default="appnp", help="whose rows are drawn")
    options = parser.parse_args()
    rows = [row for row in read_rows(options.rows) if row["model"] == options.model]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    strategies = list(dict.fromkeys(row["strategy"] for row in rows))
    budgets = sorted({int(row["budget"]) for row in rows})
    figure, axes = plt.subplots(
        len(TITLES), len(sets), figsize=(3.6 * len(sets), 5.2), squeeze=False, sharex=True, sharey="col"
    )
    for line, (classifier, title) in enumerate(TITLES.items()):
        for column, name in enumerate(sets):
            ax = axes[line, column]
            for strategy in strategies:
                means = [
                    np.mean([
                        float(row[classifier]) for row in rows
                        if (row["set"], row["strategy"], int(row["budget"])) == (name, strategy, budget)
                    ])
                    for budget in budgets
                ]  # fmt: skip
                is_plain = strategy == "random"
                ax.plot(
                    budgets, means, marker="o", ms=3, lw=1.5, label=strategy,
                    color="0.5" if is_plain else None, ls="--" if is_plain else "-",
                )  # fmt: skip
            ax.set_xscale("log", base=2)
            ax.set_xticks(budgets, [f"{budget}×" for budget in budgets])
            ax.grid(alpha=0.3)
            if line == 0:
                ax.set_title(name)
            if column == 0:
                ax.set_ylabel(f"accuracy (%), {title}")
            if line == len(TITLES) - 1:
                ax.set_xlabel("labels / classes")
    axes[-1, 0].legend(fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(options.out, dpi=110)


if __name__ == "__main__":
    main()
