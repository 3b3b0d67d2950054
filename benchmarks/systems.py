"""Every system on one features file by the paper's protocol, one row per system and model, into a CSV.

    python benchmarks/systems.py FILE.npz --csv benchmarks/results/systems_NAME.csv [--systems a,b] [--folds-csv FILE]

Rows are written as they are measured, and systems that the CSV already has are skipped, so it can be run in
parts; the differences to grande are calculated again from the accuracies of the folds. ``--folds-csv`` adds what
``accelerator_systems.py`` measured.
"""

import argparse
import csv
import platform
from pathlib import Path

import numpy as np
import torch

from grande_gnn.baselines import SYSTEMS
from grande_gnn.experiments.compare import REFERENCE, compare_systems, paper_sign
from grande_gnn.experiments.statistics import paired_interval
from grande_gnn.internal.features_file import load_features

COLUMNS = (
    "system", "model", "backbone", "accuracy_mean", "accuracy_std", "seconds", "unreached",
    "difference", "difference_low", "difference_high", "paper_sign", "error", "hardware", "fold_accuracies",
)  # fmt: skip

N_FOLDS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--folds-csv", type=Path, help="rows of accelerator_systems.py, all ten folds")
    options = parser.parse_args()
    rows = _read(options.csv) if options.csv.exists() else []
    if options.folds_csv:
        measured = _from_folds(_read(options.folds_csv))
        rows = [row for row in rows if row["system"] not in {new["system"] for new in measured}] + measured
        _write(options.csv, rows)
    hardware = (
        torch.cuda.get_device_name() if torch.cuda.is_available()
        else f"CPU {platform.machine()}, {torch.get_num_threads()} thread(s)"
    )  # fmt: skip
    finished = {row["system"] for row in rows if not row.get("error")}
    names = [name for name in options.systems.split(",") if name and name not in finished]
    rows = [row for row in rows if row["system"] not in names]
    for result in compare_systems(load_features(options.features), names) if names else ():
        row = {name: _text(value) for name, value in result.as_row().items() if name in COLUMNS}
        folds = result.accuracies.mean(axis=0) if result.error is None else []
        rows.append({**row, "hardware": hardware, "fold_accuracies": " ".join(f"{a:.4f}" for a in folds)})
        print({name: value for name, value in row.items() if value}, flush=True)
        _write(options.csv, rows)


def _from_folds(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """One row per system from one row per fold."""
    found = []
    for system in dict.fromkeys(row["system"] for row in rows):
        mine = sorted((row for row in rows if row["system"] == system), key=lambda row: int(row["fold"]))
        if [int(row["fold"]) for row in mine] != list(range(N_FOLDS)):
            raise SystemExit(
                f"{system} needs each of its {N_FOLDS} folds once: run accelerator_systems.py for the others; "
                f"got folds {', '.join(row['fold'] for row in mine)}"
            )
        folds = np.array([float(row["accuracy"]) for row in mine])
        found.append({
            "system": system, "backbone": mine[0]["backbone"], "error": "",
            "hardware": ", ".join(dict.fromkeys(row["hardware"] for row in mine)),
            "accuracy_mean": f"{folds.mean():.4f}", "accuracy_std": f"{folds.std(ddof=1):.4f}",
            "seconds": f"{sum(float(row['seconds']) for row in mine):.4f}",
            "paper_sign": paper_sign(system) or "", "fold_accuracies": " ".join(f"{a:.4f}" for a in folds),
        })  # fmt: skip
    return found


def _text(value: object) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    """All rows in the order of the registry, each with its paired difference to the better grande."""
    grande = [row for row in rows if row["system"] == REFERENCE and not row.get("error")]
    best = max(grande, key=lambda row: float(row["accuracy_mean"]), default=None)
    for row in rows:
        ours, theirs = (np.array(r["fold_accuracies"].split(), float) if r else [] for r in (row, best))
        if row is not best and len(ours) and len(ours) == len(theirs):
            names = ("difference", "difference_low", "difference_high")
            row.update(zip(names, (f"{v:.4f}" for v in paired_interval(ours, theirs)), strict=True))
    order = list(SYSTEMS)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: order.index(row["system"])))


if __name__ == "__main__":
    main()
