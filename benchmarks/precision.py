"""Whether the precision of CUDA's arithmetic changes accuracies: the same trainings with each, folds paired.

    python benchmarks/precision.py FEATURES.npz ... [--out FILE]

Ten folds × five repetitions, degree centrality and GRaNDe with σ = 0.2, both models. The difference is that of GRaNDe to
``tf32``, with its 95 % interval over the folds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, print_table, write_rows
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.engine import MODELS, Settings, as_degree
from grande_gnn.experiments import fold_labels, paper_folds
from grande_gnn.experiments.statistics import paired_interval
from grande_gnn.graph import reciprocal_knn_graph
from grande_gnn.internal.features_file import load_features
from grande_gnn.internal.validation import encode_labels

PRECISIONS = ("tf32", "half", "highest")
DEGREES = (as_degree("centrality"), as_degree("grande", 0.2))
REPETITIONS = 5


def measure(path: Path, model: str, device: str) -> list[dict[str, Any]]:
    """One row per precision."""
    content = load_features(path)
    X, (y, names) = content.features, encode_labels(content.labels)
    graph = reciprocal_knn_graph(X, 40, device=device)
    folds = paper_folds(y, 10)
    label_sets = [
        LabelSet(fold_labels(y, rows), fold, repetition, degree)
        for degree in DEGREES
        for repetition in range(REPETITIONS)
        for fold, (rows, _) in enumerate(folds)
    ]
    results: list[dict[str, Any]] = []
    reference = None
    for precision in PRECISIONS:
        settings = Settings(model=model, device=device, precision=precision)
        start = time.perf_counter()
        outcomes = LearningProblem(X, graph, len(names), DEGREES[0], settings).train(label_sets)
        seconds = time.perf_counter() - start
        hits = [
            100 * np.mean((o.predictions == y)[s.labels < 0])
            for o, s in zip(outcomes, label_sets, strict=True)
        ]
        by_degree = np.reshape(hits, (len(DEGREES), REPETITIONS, len(folds)))
        grande = by_degree[1].mean(0)
        reference = grande if reference is None else reference
        difference, low, high = paired_interval(grande, reference)
        results.append({
            "features": f"{path.parent.name} {path.stem}", "model": model, "precision": precision,
            "centrality": f"{by_degree[0].mean():.3f}", "grande": f"{grande.mean():.3f}",
            "difference": f"{difference:.3f}", "half_width": f"{(high - low) / 2:.3f}", "seconds": f"{seconds:.2f}",
        })  # fmt: skip
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("features", type=Path, nargs="+")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = [
        row
        for path in options.features
        for model, kind in MODELS.items()
        if kind.is_diffusion
        for row in measure(path, model, options.device)
    ]
    write_rows(rows, options.out or RESULTS / f"precision_{options.device}.csv")
    print_table(rows, list(rows[0]))


if __name__ == "__main__":
    main()
