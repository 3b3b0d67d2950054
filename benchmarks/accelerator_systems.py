"""CoMatch and GNN-LDS on an accelerator: the folds of the paper's protocol, one row per fold, into a CSV.

    python benchmarks/accelerator_systems.py FEATURES.npz --images DIR --csv FILE [--weights FILE] [--folds 0 1 2]

FEATURES.npz names the image files and their labels; GNN-LDS works on its features, CoMatch on the images. A row
is written as soon as its fold is done, so what an interrupted run finished is kept. If the package
``efficientnet_lite_pytorch`` is not installed, put a copy of it on PYTHONPATH and name the state dictionary with
``--weights``.
"""

import argparse
import csv
import logging
import time
from pathlib import Path

import numpy as np
import torch

from grande_gnn.baselines import SYSTEMS
from grande_gnn.baselines.comatch import square_image
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.internal.features_file import load_features
from grande_gnn.internal.validation import encode_labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path)
    parser.add_argument("--images", type=Path, help="the folder that holds the files FEATURES.npz names")
    parser.add_argument("--weights", type=Path, help="state dictionary of EfficientNet-Lite0")
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--systems", default="comatch,gnn-lds")
    parser.add_argument(
        "--folds", type=int, nargs="+", default=range(10), help="which of the ten folds to run"
    )
    parser.add_argument("--steps", type=int, default=400, help="training steps of CoMatch")
    parser.add_argument("--rounds", type=int, default=100, help="most inner trainings of GNN-LDS")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    content = load_features(options.features)
    codes, _ = encode_labels(content.labels)
    extra = {
        "comatch": {"weights": options.weights, "steps": options.steps},
        "gnn-lds": {"rounds": options.rounds},
    }
    hardware = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    for name in options.systems.split(","):
        entry = SYSTEMS[name]
        system = entry.make(random_state=options.seed, device=options.device, **extra[name])
        X = content.features
        if entry.needs_images:  # they are read once, not once per fold
            X = read_squares([options.images / file for file in content.files], system.size)
        for fold in options.folds:
            train, test = paper_folds(codes)[fold]
            start = time.perf_counter()
            (result,) = system.transduce_folds(X, fold_labels(codes, train)[None])
            row = {
                "system": name, "backbone": system.get_params().get("backbone", ""), "fold": fold,
                "accuracy": round(100 * float(np.mean(result.codes[test] == codes[test])), 4),
                "seconds": round(time.perf_counter() - start, 2), "seed": options.seed,
                "hardware": hardware, "torch": torch.__version__,
            }  # fmt: skip
            print(row, flush=True)
            _append(options.csv, row)


def read_squares(files: list[Path], size: int) -> np.ndarray:
    """The images as CoMatch keeps them for views of ``size`` pixels: (n, side, side, 3)."""
    side = round(size * 8 / 7)
    return np.stack([square_image(file, side).permute(1, 2, 0).numpy() for file in files])


def _append(path: Path, row: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, row)
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
