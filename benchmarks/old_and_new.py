"""An old and the present version timed in turn, in one run on one machine: has anything become slower?

    git archive --prefix=old_tree/ COMMIT | tar -x
    python benchmarks/old_and_new.py --old old_tree                    the engine and the core on the CPU
    python benchmarks/old_and_new.py --old old_tree --device cuda
    python benchmarks/old_and_new.py --old old_tree --what label --data DATA
    python benchmarks/old_and_new.py --old old_tree --what files --data DATA     models loaded, photos extracted

Each version lives in a process of its own, with the same number of threads, and is warmed up. Then the two are timed in
pairs, the old one first in every other pair. Both processes are started anew several times, because where a process
happens to find its memory makes it faster or slower for as long as it lives.

A row holds the median of the ratios old/new (above 1: the new version is
faster) and its 95 % interval by order statistics, which assumes nothing about how times are distributed. The bar is 0.95
for the lower end. The row also says whether both versions gave the same result, to the bit. Rows that are not measured this
time stay in the file. Run it on a quiet machine; the exit status is 1 when a row misses the bar.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from scipy.stats import binom

from common import RESULTS, print_table, read_rows, write_rows
from engine import CPU_ROWS, GPU_ROWS
from versions import THIS_TREE, Version, two_versions

BAR = 0.95


@dataclass(frozen=True)
class Case:
    """One operation to time."""

    name: str
    operation: str
    arguments: dict[str, Any]
    times: int = 1
    """How often it runs for one timing; short ones several times."""
    pairs: int | None = None
    """Pairs, where they differ from the number asked for."""


EPOCHS = {"flowers-appnp": 20, "dogs-appnp": 100, "dogs-sgc": 100}
"""Rows of the engine whose 200 epochs would take too long for so many pairs on one of the devices."""

TIMES = {"cpu": {"one-sgc": 3, "one-appnp": 1}, "cuda": {"flowers-sgc": 4}}


def engine_cases(device: str, precision: str, epochs: int | None, data: Path | None) -> Iterator[Case]:
    """The rows of engine.py; on CUDA those with results in this repository."""
    rows = CPU_ROWS if device == "cpu" else [r for r in GPU_ROWS if r.dataset in ("flowers17", "dogs")]
    for row in rows:
        short = EPOCHS.get(row.name, 200) if (device == "cpu") == (row.name == "flowers-appnp") else 200
        arguments = {
            "dataset": row.dataset, "d": row.d, "model": row.model, "sigmas": row.sigmas, "folds": row.folds,
            "repetitions": row.repetitions, "device": device, "precision": precision, "epochs": epochs or short,
            "data": str(data) if data else None,
        }  # fmt: skip
        yield Case(row.name, "engine", arguments, TIMES[device].get(row.name, 1))


def core_cases(device: str) -> Iterator[Case]:
    """Neighbours as in core.py, and whole graphs."""
    on_gpu = device == "cuda"  # a search takes milliseconds there
    yield Case("lists", "lists", {"n": 5000, "d": 2048, "length": 200, "device": device}, 10 if on_gpu else 1)
    for kind, times in (("reciprocal", 20), ("dgcg", 4)):
        arguments = {"n": 5000, "d": 1280, "kind": kind, "device": device}
        yield Case(f"graph-{kind}", "graph", arguments, times if on_gpu else 1)


def label_cases(device: str, data: Path | None) -> Iterator[Case]:
    """Labelling with automatic settings, from features and from photos."""
    text = str(data) if data else None
    flowers = {"dataset": "flowers17", "n": 1360, "d": 1280, "model": "appnp", "device": device, "data": text}
    yield Case("label-flowers17", "label", flowers, pairs=7)
    made = {"dataset": "made", "n": 20000, "d": 1280, "model": "sgc", "device": device, "data": None}
    yield Case("label-made-sgc", "label", made, pairs=7)
    yield Case("label-made-appnp", "label", made | {"model": "appnp"}, pairs=7)
    if data and (data / "flowers17" / "images").is_dir():
        folder = data / "flowers17"
        arguments = {"folder": str(folder / "images"), "labels": str(folder / "labels.csv"), "device": device}
        yield Case("label-photos", "photos", arguments | {"extractor": "lite0"}, pairs=7)


def file_cases(device: str, data: Path | None) -> Iterator[Case]:
    """Loading a model of 28 MB, and extracting photos that the store does not have, or has."""
    made = {"n": 5000, "d": 1280, "model": "sgc", "device": device}
    yield Case("load", "loading", made | {"answers": 0}, 10)
    yield Case("load-predict", "loading", made | {"answers": 10})
    if data and (data / "flowers17" / "images").is_dir():
        photos = {"folder": str(data / "flowers17" / "images"), "extractor": "lite0", "device": device}
        yield Case("extract", "extraction", photos | {"photos": 200, "cached": False})
        yield Case("extract-cached", "extraction", photos | {"photos": 1360, "cached": True}, 3)


@dataclass
class Times:
    """What was measured of one case so far."""

    case: Case
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"old": [], "new": []})
    digests: dict[str, set[str]] = field(default_factory=lambda: {"old": set(), "new": set()})

    def add(self, versions: dict[str, Version], pairs: int) -> None:
        """Warm both versions up and time them in turn."""
        case = self.case
        common = {"name": case.name, "operation": case.operation, "arguments": case.arguments}
        for name, version in versions.items():
            self.digests[name].add(version.ask("prepare", **common)["digest"])
        for i in range(pairs):
            for name in ("old", "new") if i % 2 == 0 else ("new", "old"):
                answer = versions[name].ask("run", name=case.name, times=case.times)
                self.seconds[name].append(answer["seconds"])

    def row(self, versions: dict[str, Version]) -> dict[str, Any]:
        """The summary of all pairs."""
        case, seconds = self.case, self.seconds
        ratios = [old / new for old, new in zip(seconds["old"], seconds["new"], strict=True)]
        low, high = interval_of_median(ratios)
        settings = ("dataset", "n", "d", "model", "kind", "device", "precision", "epochs")
        return {
            "row": case.name, **{key: case.arguments[key] for key in settings if key in case.arguments},
            "times": case.times, "pairs": len(ratios), "old_version": versions["old"].version,
            "new_version": versions["new"].version, "old_seconds": statistics.median(seconds["old"]),
            "new_seconds": statistics.median(seconds["new"]), "ratio": statistics.median(ratios),
            "low": low, "high": high, "bar": BAR, "met": low >= BAR,
            "same_result": self.digests["old"] == self.digests["new"],
            "old_runs": " ".join(f"{s:.4f}" for s in seconds["old"]),
            "new_runs": " ".join(f"{s:.4f}" for s in seconds["new"]),
        }  # fmt: skip


def interval_of_median(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The narrowest symmetric pair of order statistics that holds the median with this probability.

    For n values the k-th smallest and the k-th largest miss it with probability 2·P(Binomial(n, ½) < k); all of them are
    used (k = 1) where even the smallest and the largest do not reach the level.

    >>> interval_of_median([3, 1, 2, 7, 5, 6, 4])
    (1, 7)
    >>> interval_of_median([9, 3, 1, 2, 7, 5, 6, 4, 8])
    (2, 8)
    """
    ordered, n = sorted(values), len(values)
    k = max((k for k in range(1, n // 2 + 1) if 2 * binom.cdf(k - 1, n, 0.5) <= 1 - level), default=1)
    return ordered[k - 1], ordered[n - k]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--old", type=Path, required=True, help="folder of the old version, with src/grande_gnn"
    )
    parser.add_argument("--new", type=Path, default=THIS_TREE, help="the default is this tree")
    parser.add_argument(
        "--what", nargs="+", choices=["engine", "core", "label", "files"], default=["engine", "core"]
    )
    parser.add_argument("--rows", nargs="+", help="only these")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["tf32", "half", "highest"], default="tf32")
    parser.add_argument(
        "--pairs", type=int, default=12, help="at least 7; label runs have 7 unless this is lower"
    )
    parser.add_argument(
        "--restarts", type=int, default=3, help="how often both processes are started anew during the pairs"
    )
    parser.add_argument("--epochs", type=int, help="epochs of the engine's rows instead of their own")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of each version")
    parser.add_argument("--data", type=Path, help="folder with <dataset>/…; without it features are made")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cases: list[Case] = []
    if "engine" in options.what:
        cases += engine_cases(options.device, options.precision, options.epochs, options.data)
    if "core" in options.what:
        cases += core_cases(options.device)
    if "label" in options.what:
        cases += label_cases(options.device, options.data)
    if "files" in options.what:
        cases += file_cases(options.device, options.data)
    out = options.out or RESULTS / f"old_and_new_{options.device}.csv"
    earlier = read_rows(out)
    measured = [Times(case) for case in cases if not options.rows or case.name in options.rows]
    rows: list[dict[str, Any]] = []
    for _ in range(options.restarts):
        with two_versions(options.old, options.new, options.threads) as versions:
            for times in measured:
                pairs = min(options.pairs, times.case.pairs or options.pairs)
                times.add(versions, -(-pairs // options.restarts))
                rows = [t.row(versions) for t in measured if t.seconds["new"]]
                names = {row["row"] for row in rows}
                write_rows([row for row in earlier if row["row"] not in names] + rows, out)
    print_table(
        rows, ["row", "pairs", "old_seconds", "new_seconds", "ratio", "low", "high", "met", "same_result"]
    )
    return int(not all(row["met"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
