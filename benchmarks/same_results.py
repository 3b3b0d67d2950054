"""The same results with an old and the present version: predictions, probabilities, degrees and accuracies.

    git archive --prefix=old_tree/ COMMIT | tar -x
    python benchmarks/same_results.py --old old_tree --data DATA       (or GRANDE_DATA for the folder of the data)

From a tenth of the labels of Flowers17 and Corel5k: `fit` with the paper's settings, both models and both degrees, and the
answers for samples that were not fitted; `evaluate` with one repetition. Automatic settings and confidences are computed in
another way since version 0.1, so they are not compared; a fit with the settings that 0.1 chose is.
The row of each holds the share of equal predictions, the largest difference of any number, and the arrays that are not
identical. The exit status is 1 if a prediction differs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, print_table, write_rows
from versions import THIS_TREE, Version, two_versions

Case = tuple[str, str, dict[str, Any]]
"""(name, operation, arguments)."""

DATASETS = ("flowers17", "corel5k")
CHOSEN = {"graph": "dgcg", "n_neighbors": 40, "normalize": "center-l2", "sigma": 0.2}
"""What version 0.1 chose automatically."""


def cases(data: str, device: str, datasets: list[str]) -> Iterator[Case]:
    """What is compared, cheap cases first."""
    for dataset in datasets:
        source = {"dataset": dataset, "d": 1280, "data": data}
        for model in ("sgc", "appnp"):
            for degree in ("grande", "centrality"):
                settings = {"model": model, "degree": degree, "device": device}
                yield f"fit-{model}-{degree}", "fit", source | {"settings": settings}
        yield "evaluate-sgc", "evaluate", source | {"settings": {"model": "sgc", "device": device}}
    if "flowers17" in datasets:
        source = {"dataset": "flowers17", "d": 1280, "data": data}
        yield "evaluate-appnp", "evaluate", source | {"settings": {"model": "appnp", "device": device}}
        yield "fit-chosen", "fit", source | {"settings": CHOSEN | {"device": device}}


def compare(
    name: str, operation: str, arguments: dict[str, Any], versions: dict[str, Version]
) -> dict[str, Any]:
    """Run one case with both versions and compare every array."""
    arrays = {}
    with tempfile.TemporaryDirectory() as folder:
        for version, process in versions.items():
            path = str(Path(folder) / f"{version}.npz")
            process.ask("compute", operation=operation, arguments=arguments, save=path)
            with np.load(path) as archive:
                arrays[version] = dict(archive)
    old, new = arrays["old"], arrays["new"]
    assert old.keys() == new.keys()
    numbers = [key for key in old if old[key].dtype.kind == "f"]
    answers = [key for key in old if key not in numbers]
    settings = arguments.get("settings", {})
    return {
        "dataset": arguments["dataset"], "what": name, "device": settings.get("device", arguments.get("device")),
        "arrays": " ".join(old),
        "equal_predictions": float(min((np.mean(old[k] == new[k]) for k in answers), default=1.0)),
        "largest_difference": max((float(np.abs(old[k] - new[k]).max()) for k in numbers), default=0.0),
        "not_identical": " ".join(k for k in old if not np.array_equal(old[k], new[k])),
        "old_version": versions["old"].version, "new_version": versions["new"].version,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--old", type=Path, required=True, help="folder of the old version, with src/grande_gnn"
    )
    parser.add_argument("--new", type=Path, default=THIS_TREE, help="the default is this tree")
    parser.add_argument(
        "--data", default=os.environ.get("GRANDE_DATA"), help="folder with <dataset>/features_*.npz"
    )
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=DATASETS)
    parser.add_argument("--cases", nargs="+", help="only these")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "same_results.csv")
    options = parser.parse_args()
    if not options.data:
        parser.error("name the folder of the data with --data or GRANDE_DATA; got neither")
    rows = []
    with two_versions(options.old, options.new, options.threads) as versions:
        for name, operation, arguments in cases(options.data, options.device, options.datasets):
            if options.cases and name not in options.cases:
                continue
            rows.append(compare(name, operation, arguments, versions))
            print(rows[-1], flush=True)
            write_rows(rows, options.out)
    print_table(rows, ["dataset", "what", "equal_predictions", "largest_difference", "not_identical"])
    return int(any(row["equal_predictions"] < 1 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
