"""Why the semi-supervised forest loses to nearest neighbors: accuracy by how many steps a label has come.

    python benchmarks/opf_chains.py DATA/flowers17/features_lite0.npz --csv benchmarks/results/opf_chains.csv

Ten folds of the paper's protocol; one row for each number of steps along the tree from the conquering prototype, one
for all samples. Printed besides: the share of spanning-tree edges that join two classes, the share of the samples
that the most conquering class takes, and the accuracy with ``clamp=True``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from common import print_table, read_rows, write_rows
from grande_gnn.baselines.opf import OPFSemi, Tree, conquer, prototypes, spanning_tree
from grande_gnn.experiments import fold_labels, paper_folds
from grande_gnn.internal.features_file import load_features
from grande_gnn.internal.validation import encode_labels

STEPS = [(0, 0), (1, 1), (2, 3), (4, 7), (8, 15), (16, 10**9)]


def steps_from_prototype(tree: Tree, cost: np.ndarray, order: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Tree edges between each sample and the prototype whose label it carries."""
    neighbors: list[list[tuple[int, float]]] = [[] for _ in cost]
    for a, b, w in zip(tree.parent.tolist(), tree.child.tolist(), tree.weight.tolist(), strict=True):
        neighbors[a].append((b, w))
        neighbors[b].append((a, w))
    steps = np.where(start, 0, -1)
    for s in order.tolist():
        for t, arc in neighbors[s]:
            if steps[t] < 0 and max(cost[s], arc) == cost[t]:
                steps[t] = steps[s] + 1
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("features", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    options = parser.parse_args()
    content = load_features(options.features)
    X, (y, _) = content.features, encode_labels(content.labels)
    tree = spanning_tree(X)
    steps, right, largest, clamped = [], [], [], []
    for rows, test in paper_folds(y, 10):
        codes = fold_labels(y, rows)
        known = codes >= 0
        start = np.zeros(len(X), dtype=bool)
        start[known] = prototypes(spanning_tree(X[known]), codes[known])
        forest = conquer(tree, start, codes)
        steps.append(steps_from_prototype(tree, forest.cost, forest.order, start)[test])
        right.append((forest.codes == y)[test])
        largest.append(np.bincount(forest.codes).max() / len(X))
        clamped.append(np.mean((OPFSemi(clamp=True).fit(X, codes).transduction_ == y)[test]))
    step, hit = np.concatenate(steps), np.concatenate(right)
    name = f"{options.features.parent.name}/{options.features.stem}"
    table = []
    for low, high in STEPS:
        inside = (step >= low) & (step <= high)
        if inside.any():
            words = str(low) if low == high else f"{low} and more" if high > 10**6 else f"{low} to {high}"
            table.append(
                {"features": name, "steps": words, "share": inside.mean(), "accuracy": hit[inside].mean()}
            )
    table.append({"features": name, "steps": "all", "share": 1.0, "accuracy": hit.mean()})
    joining = float(np.mean(y[tree.parent] != y[tree.child]))
    facts = {
        "tree_edges_joining_classes": joining,
        "largest_conquest": np.mean(largest),
        "clamped": np.mean(clamped),
    }
    table[-1] |= facts
    print_table(table, ["steps", "share", "accuracy"])
    print(facts)
    before = [row for row in read_rows(options.csv) if row["features"] != name]
    write_rows([*before, *table], options.csv)


if __name__ == "__main__":
    main()
