"""What automatic settings cost: `GrandeClassifier` with everything "auto", a committee, against one fit with fixed settings.

    python benchmarks/auto_cost.py DATA/flowers17/features_lite0.npz

Eight labels per class at random. Both are timed in turn, three times; medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from common import RESULTS, print_table, write_rows
from grande_gnn import GrandeClassifier
from grande_gnn.classifier.tuning import FAVORITE
from grande_gnn.internal.features_file import load_features
from grande_gnn.internal.validation import encode_labels
from label_kinds import draw_labels

AUTO = {"graph": "auto", "n_neighbors": "auto", "normalize": "auto", "sigma": "auto"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("features", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "auto_cost.csv")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    content = load_features(options.features)
    y, _ = encode_labels(content.labels)
    codes = draw_labels("r8", y, content.features, np.empty(0), 0)
    fixed = asdict(FAVORITE)

    def seconds(settings: dict) -> float:
        start = time.perf_counter()
        GrandeClassifier(**settings, device=options.device, random_state=0).fit(content.features, codes)
        return time.perf_counter() - start

    seconds(fixed)
    rounds = [(seconds(fixed), seconds(AUTO)) for _ in range(3)]
    one, auto = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(b / a for a, b in rounds)
    rows = [{"features": options.features.stem, "device": options.device, "one_fit_seconds": one, "auto_seconds": auto,
             "ratio": ratio}]  # fmt: skip
    print_table(rows, list(rows[0]))
    write_rows(rows, options.out)


if __name__ == "__main__":
    main()
