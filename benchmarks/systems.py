"""Every system on one features file by the paper's protocol, one row a system and model, into a CSV.

    python benchmarks/systems.py FILE.npz --csv benchmarks/results/systems_NAME.csv [--systems a,b] [--images DIR]

Rows are written as they are measured; systems the CSV already has are skipped, except grande, which the others
are measured against and whose rows are replaced.
"""

import argparse
import csv
import platform
from pathlib import Path

import torch

from grande_gnn.baselines import SYSTEMS
from grande_gnn.experiments.comparison import REFERENCE, compare_systems
from grande_gnn.files import load_features

COLUMNS = (
    "system", "model", "backbone", "accuracy_mean", "accuracy_std", "std_repetitions", "folds", "repeats", "seconds",
    "unreached", "difference", "difference_low", "difference_high", "paper_sign", "error", "hardware",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--images", type=Path)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    hardware = (
        torch.cuda.get_device_name() if torch.cuda.is_available()
        else f"CPU {platform.machine()}, {torch.get_num_threads()} thread(s)"
    )  # fmt: skip
    rows = []
    if options.csv.exists():
        with options.csv.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["system"] != REFERENCE]
    finished = {row["system"] for row in rows}
    names = [name for name in options.systems.split(",") if name not in finished]
    results = compare_systems(
        load_features(options.features), [REFERENCE, *names],
        folds=options.folds, repeats=options.repeats, images=options.images,
    )  # fmt: skip
    for result in results:
        row = {name: _text(value) for name, value in result.as_row().items()}
        rows.append({**row, "hardware": hardware})
        print({name: value for name, value in row.items() if value}, flush=True)
        _write(options.csv, rows)


def _text(value: object) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    order = list(SYSTEMS)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: order.index(row["system"])))


if __name__ == "__main__":
    main()
