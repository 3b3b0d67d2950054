"""What one step of an adaptation costs on a GPU: milliseconds, memory beside its prediction, and the kernels behind it.

    python benchmarks/adapt_profile.py FOLDER --csv ROWS.csv [--weights FILE] [--tables FOLDER] [--search]
    python benchmarks/adapt_profile.py FOLDER --csv ROWS.csv --processes 4

FOLDER holds ``photos_flowers17.npz`` (``benchmarks/adapt.py pack``). Rows are appended as they are measured: the default on
a GPU (new views, last blocks) and the whole network, each with and without recording the steps, and CoMatch. With
``--processes``, so many trainings of the default run side by side, and the row has the milliseconds of a step divided by
their number. ``merged_norms`` tells whether batch normalizations were merged into the convolutions before them.
"""

from __future__ import annotations

import argparse
import copy
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from adapt import given_labels, unpack
from common import hardware, read_rows, write_rows
from grande_gnn.baselines.comatch import CoMatch, CoMatchTraining
from grande_gnn.images.adapt import DEFAULTS
from grande_gnn.images.adapt_memory import predicted_gib
from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.networks import load_extractor, load_trainable
from grande_gnn.images.pseudo_targets import WINDOW
from grande_gnn.images.view_source import LiveViews, TrunkViews

BLOCKS = DEFAULTS["cuda"]["blocks"]


class Setting:
    """The photos of Flowers17 on a device, and trainings on them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.device = options, torch.device(options.device)
        self.loaded = load_trainable("lite0", options.weights).to(self.device)
        self.squares, labels = unpack(options.folder / "photos_flowers17.npz", 256)
        self.codes = torch.from_numpy(given_labels(labels, 8, 0)).to(self.device)

    def views(self, size: int) -> LiveViews:
        return LiveViews(self.squares, self.loaded.preprocess, size, self.device)

    def training(self, form: str, size: int, recorded: bool) -> AdaptTraining:
        views: Any = self.views(size)
        network = self.loaded.network
        if form == "last":
            network = network.split(BLOCKS)[1]  # type: ignore[operator]
            frozen: Any = load_extractor("lite0", self.options.weights).to(self.device).network
            views = TrunkViews(views, frozen.split(BLOCKS)[0].eval())
        training = AdaptTraining(
            copy.deepcopy(network), views, self.codes, Recipe(), n_classes=17, n_features=1280,
            marginal=torch.full((17,), 1 / 17),
        )  # fmt: skip
        training._is_recordable &= recorded
        return training

    def comatch(self) -> Callable[[], object]:
        system = CoMatch(weights=self.options.weights, random_state=0, device=self.options.device)
        training = CoMatchTraining(system, self.squares.to(self.device), self.codes)
        return lambda: training.step(0)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def timed(step: Callable[[], object], device: torch.device, n: int) -> dict[str, float]:
    """Milliseconds per step, those that Python is busy with, and the most memory."""
    for _ in range(WINDOW + 2):  # the step is recorded after so many
        step()
    wait(device)
    start = time.perf_counter()
    for _ in range(n):
        step()
    issued = time.perf_counter() - start
    wait(device)
    row = {
        "milliseconds": 1000 * (time.perf_counter() - start) / n,
        "python_milliseconds": 1000 * issued / n,
    }
    if device.type == "cuda":
        row["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return {key: round(value, 3) for key, value in row.items()}


def table(step: Callable[[], object], device: torch.device, path: Path) -> None:
    """The kernels of ten steps, most expensive first."""
    from torch.profiler import ProfilerActivity, profile

    kinds = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device.type == "cuda")
    with profile(activities=kinds, record_shapes=True) as seen:
        for _ in range(10):
            step()
        wait(device)
    order = "self_cuda_time_total" if device.type == "cuda" else "self_cpu_time_total"
    plain = seen.key_averages().table(sort_by=order, row_limit=45, max_name_column_width=90)
    shapes = seen.key_averages(group_by_input_shape=True).table(
        sort_by=order, row_limit=45, max_name_column_width=60, max_shapes_column_width=90
    )
    path.write_text(plain + "\n" + shapes, encoding="utf-8")


def one_of_many(barrier: Any, results: Any, options: argparse.Namespace) -> None:
    """A process: the time of its steps, while the others take theirs."""
    torch.set_num_threads(2)
    setting = Setting(options)
    training = setting.training("last", 224, True)
    for _ in range(WINDOW + 8):
        training.step()
    wait(setting.device)
    barrier.wait()
    start = time.perf_counter()
    for _ in range(options.steps):
        training.step()
    wait(setting.device)
    results.put(time.perf_counter() - start)


def side_by_side(options: argparse.Namespace) -> dict[str, Any]:
    """A row with the time of a step of several trainings at once."""
    context, n = multiprocessing.get_context("spawn"), options.processes
    barrier, results = context.Barrier(n), context.Queue()
    workers = [context.Process(target=one_of_many, args=(barrier, results, options)) for _ in range(n)]
    for worker in workers:
        worker.start()
    slowest = max(results.get() for _ in workers)
    return {
        "what": "last", "size": 224, "search": False, "recorded": True, "processes": n, "merged_norms": True,
        "milliseconds": round(1000 * slowest / options.steps / n, 3),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--tables", type=Path, help="a folder for the tables of kernels")
    parser.add_argument("--search", action="store_true", help="let cuDNN search for the fastest convolutions")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--processes", type=int, default=0, help="trainings side by side, and nothing else")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    if options.processes:
        row = side_by_side(options)
        print(row, flush=True)
        write_rows([*read_rows(options.csv), row | hardware()], options.csv)
        return
    setting = Setting(options)
    torch.backends.cudnn.benchmark = options.search
    is_cuda = setting.device.type == "cuda"

    def add(name: str, size: int, recorded: bool, step: Callable[[], object]) -> None:
        row = {"what": name, "size": size, "search": options.search, "recorded": recorded}
        row |= timed(step, setting.device, options.steps)
        if name == "full":
            row["predicted_gib"] = round(predicted_gib(Recipe(), size), 3)
        print(row, flush=True)
        write_rows([*read_rows(options.csv), row | hardware()], options.csv)

    for form, size in (("last", 224), ("full", 224), ("full", 260)):
        for recorded in (False, True):
            if is_cuda:
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            training = setting.training(form, size, recorded)
            add(form, size, recorded, training.step)
            if options.tables is not None and not recorded and size == 224:
                table(training.step, setting.device, options.tables / f"kernels-{form}.txt")
            del training
    if is_cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    add("comatch", 224, False, setting.comatch())


if __name__ == "__main__":
    main()
