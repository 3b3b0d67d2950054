"""The whole way after extraction, stage by stage: features on disk → labels, confidence, report.

    python benchmarks/pipeline.py --device cuda --cases 2000:20 10000:100 100000:100 1000000:100 1000000:1000
    python benchmarks/pipeline.py --device cpu  --cases 10000:100 100000:100
    python benchmarks/pipeline.py --draw                                    # exponents and plot from the rows
    python benchmarks/pipeline.py --table 100000:100 1000000:100 --device cuda    # the last rows as in docs/scale.md

Made features (made_features.py), float16 on disk, 20 labels per class at random, all settings automatic. Each case runs in
a process of its own and appends one row, so that a run can be stopped and resumed. Seconds of a stage do not contain those
of another. `all_members` trains the whole committee, which automatic settings do up to 20,000 samples only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, print_table, read_rows, write_rows
from made_features import few_labels, made_features

D, PER_CLASS = 768, 20
STAGES = ("read", "search", "graph", "held_out", "final", "assess", "report", "write")


class Watch:
    """Seconds of each stage; a stage inside another interrupts it."""

    def __init__(
        self, stages: Sequence[str] = STAGES, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.seconds, self._clock = dict.fromkeys(stages, 0.0), clock
        self._running: list[str] = []
        self._since = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self._turn()
        self._running.append(name)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def _turn(self) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        now = self._clock()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def around(self, owner: Any, name: str, stage: str) -> None:
        """Count the calls of a function as a stage."""
        found = owner[name] if isinstance(owner, dict) else getattr(owner, name)
        is_class_method = isinstance(owner, type) and isinstance(owner.__dict__.get(name), classmethod)

        def timed(*arguments: Any, **options: Any) -> Any:
            with self.stage(stage):
                return found(*arguments, **options)

        replaced: Callable[..., Any] = staticmethod(timed) if is_class_method else timed  # type: ignore[assignment]
        if isinstance(owner, dict):
            owner[name] = timed
        else:
            setattr(owner, name, replaced)


def watched() -> Watch:
    """A watch on the stages of this process."""
    from grande_gnn.classifier import committee, preparation
    from grande_gnn.classifier.member import Member
    from grande_gnn.graph import Neighbors
    from grande_gnn.labelling import cluster_training, folder, run

    watch = Watch()
    watch.around(Neighbors, "lists", "search")
    watch.around(preparation.Preparation, "graph_of", "graph")
    watch.around(committee, "take_votes", "held_out")
    watch.around(Member, "train", "final")
    watch.around(cluster_training, "assess", "assess")
    watch.around(run, "write_labelling", "write")
    watch.around(folder.ENTRIES, "report.html", "report")
    return watch


def measure(
    n: int, c: int, device: str, threads: int, all_members: bool, backend: str, seed: int
) -> dict[str, Any]:
    """One row."""
    torch.set_num_threads(threads)
    rate = product_rate(device)
    from grande_gnn.classifier import tuning
    from grande_gnn.graph import neighbors
    from grande_gnn.labelling import LabelOptions, label_features

    if all_members:
        tuning.FEWER_ABOVE = ()
    if backend:
        neighbors.BACKENDS["auto"] = neighbors.BACKENDS[backend]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = Path(folder) / "features.npy"
        features = np.lib.format.open_memmap(path, "w+", np.float16, (n, D))
        _, y = made_features(n, c, D, seed, out=features)
        features.flush()
        del features
        codes = few_labels(y, PER_CLASS, seed)
        labels = np.where(codes >= 0, np.char.add("class ", codes.astype(str)), "")
        watch = watched()
        start, cpu = time.perf_counter(), time.process_time()
        with watch.stage("read"):
            X = np.load(path, mmap_mode="r")
            result = label_features(
                X, labels, out=Path(folder) / "out", options=LabelOptions(device=device, seed=seed)
            )
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        out = Path(folder) / "out"
        sizes = {name: (out / name).stat().st_size / 2**20 for name in ("report.html", "predictions.csv")}
    row = _row(result, y, codes, watch, seconds)
    recall = result.neighbors.recall if result.neighbors is not None else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    gpu = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    return {
        "n": n, "classes": c, "device": device, "all_members": int(all_members), "backend": backend, "seed": seed,
        **row, "recall": "exact" if recall is None else round(recall.value, 4), "host_gib": peak, "gpu_gib": gpu,
        "report_mib": sizes["report.html"], "predictions_mib": sizes["predictions.csv"], "tflops": rate,
        "cpu_seconds": cpu, "load": os.getloadavg()[0],
    }  # fmt: skip


def _row(result: Any, y: np.ndarray, codes: np.ndarray, watch: Watch, seconds: float) -> dict[str, Any]:
    unlabelled = codes < 0
    predicted = np.array([int(label.split()[1]) for label in result.labels])
    accuracy = float((predicted == y)[unlabelled].mean())
    expected = result.accuracy.value if result.accuracy is not None else float("nan")
    stages = {f"{name}_seconds": value for name, value in watch.seconds.items()}
    return {"seconds": seconds, **stages, "accuracy": accuracy, "expected_accuracy": expected}


def product_rate(device: str) -> float:
    """10¹² multiplications and additions per second of a float32 product on this machine."""
    x = torch.randn(4096, D, device=device)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        (x @ x.T)[0, 0].item()
        best = min(best, time.perf_counter() - start)
    return 2 * 4096**2 * D / best / 1e12


def exponents(rows: list[dict[str, Any]], device: str, backend: str = "") -> dict[str, float]:
    """The slope of log(seconds) over log(n) from the second largest to the largest size, with 100 classes."""
    mine = _plain(rows, device, backend)[-2:]
    if len(mine) < 2:
        return {}
    names = ["seconds", *(f"{name}_seconds" for name in STAGES)]
    growth = np.log(float(mine[1]["n"]) / float(mine[0]["n"]))
    return {
        name: float(np.log(float(mine[1][name]) / float(mine[0][name])) / growth)
        for name in names
        if min(float(row[name]) for row in mine) > 0
    }


def _plain(rows: list[dict[str, Any]], device: str, backend: str) -> list[dict[str, Any]]:
    """The last row of each size with 100 classes and this search, the smallest size first."""
    kind = {"device": device, "backend": backend, "classes": "100", "all_members": "0", "seed": "0"}
    mine = [row for row in rows if {name: str(row[name]) for name in kind} == kind]
    last = {int(row["n"]): row for row in mine}
    return [last[n] for n in sorted(last)]


def table(rows: list[dict[str, Any]], cases: Sequence[str], device: str, backend: str) -> str:
    """The stages of the last row of each case in Markdown, and their growth from the first case to the last."""
    chosen = [
        [
            row for row in rows
            if [row["n"], row["classes"]] == case.split(":")
            and (row["device"], row["all_members"], row["backend"]) == (device, "0", backend)
        ][-1]
        for case in cases
    ]  # fmt: skip
    larger = np.log(float(chosen[-1]["n"]) / float(chosen[0]["n"]))
    lines = [f"| stage | {' | '.join(cases)} | growth |", "|---" * (len(cases) + 2) + "|"]
    for name in (*(f"{stage}_seconds" for stage in STAGES), "seconds"):
        seconds = [float(row[name]) for row in chosen]
        growth = f"n^{np.log(seconds[-1] / seconds[0]) / larger:.2f}" if larger else ""
        numbers = " | ".join(f"{value:.1f}" for value in seconds)
        lines.append(f"| {name.removesuffix('seconds').strip('_') or 'in total'} | {numbers} | {growth} |")
    lines += [
        f"| {name} | {' | '.join(str(row[name])[:6] for row in chosen)} | |"
        for name in ("host_gib", "gpu_gib", "accuracy", "expected_accuracy", "recall", "tflops")
    ]
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: Path, backend: str = "") -> None:
    """Seconds of each stage against n, both axes logarithmic."""
    from matplotlib.figure import Figure

    devices = [device for device in ("cuda", "cpu") if _plain(rows, device, backend)]
    figure = Figure(figsize=(4.5 * len(devices), 3.6), layout="constrained")
    for axes, device in zip(figure.subplots(1, len(devices), squeeze=False)[0], devices, strict=True):
        mine, slopes = _plain(rows, device, backend), exponents(rows, device, backend)
        for name in ("seconds", *(f"{stage}_seconds" for stage in STAGES)):
            slope = f": n^{slopes[name]:.2f}" if name in slopes else ""
            axes.plot(
                [int(row["n"]) for row in mine], [float(row[name]) for row in mine], marker="o",
                label=f"{'in total' if name == 'seconds' else name.removesuffix('_seconds')}{slope}",
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="samples", title=f"seconds, {device}")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--cases", nargs="*", default=["10000:100", "100000:100"], help="samples:classes")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--all-members", action="store_true")
    parser.add_argument("--backend", default="", help="force a search: exact or approximate")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds after which a case is given up")
    parser.add_argument("--out", type=Path, default=RESULTS / "pipeline.csv")
    parser.add_argument("--draw", action="store_true", help="only draw the rows")
    parser.add_argument("--table", nargs="+", help="only print the last rows of these cases, samples:classes")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        n, c, seed = map(int, options.one.split(":"))
        row = measure(n, c, options.device, options.threads, options.all_members, options.backend, seed)
        print(json.dumps(row))
        return
    rows = read_rows(options.out)
    if options.table:
        print(table(rows, options.table, options.device, options.backend))
        return
    for case in (
        [] if options.draw else [f"{case}:{seed}" for case in options.cases for seed in options.seeds]
    ):
        if any(
            _key(row) == (*case.split(":"), options.device, options.all_members, options.backend)
            for row in rows
        ):
            continue
        command = [
            sys.executable,
            __file__,
            "--one",
            case,
            "--device",
            options.device,
            "--threads",
            str(options.threads),
        ]
        command += ["--backend", options.backend] * bool(options.backend) + [
            "--all-members"
        ] * options.all_members
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, timeout=options.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"{case} took more than {options.timeout:.0f} s", flush=True)
            continue
        if done.returncode:
            print(f"{case} failed with status {done.returncode}", flush=True)
            continue
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        write_rows(rows, options.out)
        rows = read_rows(options.out)
        print(rows[-1], flush=True)
    print_table(
        rows,
        ["n", "classes", "device", "all_members", "backend", "seconds", "accuracy", "recall", "host_gib"],
    )
    for device in ("cuda", "cpu"):
        print(
            device,
            {name: round(value, 2) for name, value in exponents(rows, device, options.backend).items()},
        )
    if rows and options.draw:
        draw(rows, options.out.with_suffix(".png"), options.backend)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    number = str(row["n"]), str(row["classes"]), str(row["seed"])
    return (*number, row["device"], str(row["all_members"]) == "1", row["backend"])


if __name__ == "__main__":
    main()
