"""What the benchmarks share: synthetic data of the paper's shapes, a description of the hardware, result files."""

from __future__ import annotations

import csv
import datetime
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

RESULTS = Path(__file__).parent / "results"

SHAPES = {
    "flowers17": (1360, 17),
    "corel5k": (5000, 50),
    "pets": (7409, 37),
    "cub200": (11788, 200),
    "dogs": (20580, 120),
}
"""Images and classes of the paper's datasets."""

DIMENSIONS = {"resnet": 2048, "senet": 2048, "dpnet": 2688, "vit": 768}
"""Features of the paper's four extractors."""


def made_features(n: int, d: int, c: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A mixture of Gaussians, rectified like the output of a ReLU network; labels in class order."""
    rng = np.random.default_rng(seed)
    labels = np.sort(np.arange(n) % c)
    centers = rng.normal(size=(c, d), scale=0.5).astype(np.float32)
    X = centers[labels] + rng.normal(size=(n, d), scale=1.0).astype(np.float32)
    return np.maximum(X, 0), labels


def features_of(dataset: str, d: int, data: Path | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Real features of this dimension if there are any, otherwise synthetic ones of the same shape."""
    for path in sorted((data / dataset).glob("features_*.npz")) if data else []:
        with np.load(path) as archive:
            if archive["features"].shape == (SHAPES[dataset][0], d):
                return archive["features"].astype(np.float32), archive["labels"].astype(np.int64), path.stem
    n, c = SHAPES[dataset]
    return *made_features(n, d, c), "made"


def hardware() -> dict[str, Any]:
    """The machine and the versions, for result rows."""
    row: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "cpu": _cpu_name(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    if torch.cuda.is_available():
        row |= {"gpu": torch.cuda.get_device_name(0), "cuda": torch.version.cuda}
    return row


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of an earlier run, values as text; none if there was none."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write result rows atomically; a row that has no date of its own gets today's date and this machine."""
    from grande_gnn.internal.csv_file import write_csv  # a worker of an older version imports this file too

    machine = hardware()
    table = [dict(row) if "date" in row else dict(row) | machine for row in rows]
    fields = list(dict.fromkeys(key for row in table for key in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_csv(path, fields, ([row.get(field, "") for field in fields] for row in table))


def append_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], path: Path) -> None:
    """Add rows to those of a file; each gets today's date and this machine."""
    write_rows([*read_rows(path), *(dict(zip(columns, row, strict=True)) for row in rows)], path)


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """A Markdown table of the chosen columns."""
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(_text(row.get(column)) for column in columns) + " |")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def measure_jobs(
    measure: Callable[..., list[dict]],
    jobs: Iterable[tuple],
    rows: list[dict],
    path: Path,
    processes: int,
    shown: Sequence[str],
) -> None:
    """Add the rows of ``measure(*job)`` for every job, in several processes; what is finished is written at once.

    ``shown`` are the columns of the last row that are printed after each job.
    """
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for finished in as_completed([pool.submit(measure, *job) for job in jobs]):
            rows += finished.result()
            write_rows(rows, path)
            print(*(rows[-1][name] for name in shown), flush=True)
