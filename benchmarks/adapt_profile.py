"""What one step of an adaptation costs on a GPU: milliseconds, memory beside its prediction, and the kernels behind it.

    python benchmarks/adapt_profile.py FOLDER --csv ROWS.csv [--weights FILE] [--tables FOLDER] [--compiled]

FOLDER holds ``photos_flowers17.npz`` (``benchmarks/adapt.py pack``). Rows are appended as they are measured.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adapt import RECIPES, given_labels, unpack
from common import read_rows, write_rows
from grande_gnn.baselines.comatch import CoMatch, CoMatchTraining
from grande_gnn.images.adapt import kept_views, predicted_gib
from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.networks import load_trainable
from grande_gnn.images.view_source import LiveViews

BLOCKS = 8


class Setting:
    """The photos of Flowers17 on a device, and trainings on them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.device = options, torch.device(options.device)
        self.loaded = load_trainable("lite0", options.weights).to(self.device)
        self.squares, labels = unpack(options.folder / "photos_flowers17.npz", 256)
        self.codes = torch.from_numpy(given_labels(labels, 8, 0)).to(self.device)

    def views(self, size: int) -> LiveViews:
        return LiveViews(self.squares, self.loaded.preprocess, size, self.device)

    def training(self, form: str, recipe: Recipe, size: int) -> AdaptTraining:
        views: Any = self.views(size)
        network = self.loaded.network
        if form == "last":
            trunk, network = network.split(BLOCKS)  # type: ignore[operator]
            views = kept_views(views, trunk.eval(), len(self.squares), 2)
        return AdaptTraining(
            copy.deepcopy(network), views, self.codes, recipe, n_classes=17, n_features=1280,
            marginal=torch.full((17,), 1 / 17),
        )  # fmt: skip

    def comatch(self) -> Callable[[], object]:
        system = CoMatch(weights=self.options.weights, random_state=0, device=self.options.device)
        training = CoMatchTraining(system, self.squares.to(self.device), self.codes)
        return lambda: training.step(0)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def timed(step: Callable[[], object], device: torch.device, n: int) -> dict[str, float]:
    """Milliseconds per step, those that Python is busy with, and the most memory."""
    for _ in range(min(n, 6)):
        step()
    wait(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
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


def compiled(training: AdaptTraining) -> AdaptTraining:
    """The same training with the student's and the teacher's backbone compiled."""
    training.network.backbone = torch.compile(training.network.backbone)
    training.average.backbone = torch.compile(training.average.backbone)
    return training


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--tables", type=Path, help="a folder for the tables of kernels")
    parser.add_argument(
        "--compiled", action="store_true", help="time torch.compile too, which takes a minute"
    )
    parser.add_argument("--memory", action="store_true", help="other sizes of views alone, for their memory")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    setting = Setting(options)

    def add(name: str, size: int, search: bool, step: Callable[[], object], gib: float | None = None) -> None:
        torch.backends.cudnn.benchmark = search
        row: dict[str, Any] = {"what": name, "size": size, "search": search}
        try:
            row |= timed(step, setting.device, options.steps)
        except Exception as error:  # the other rows are still wanted
            row["error"] = str(error).splitlines()[0][:200]
        if gib is not None:
            row["predicted_gib"] = round(gib, 3)
        print(row, flush=True)
        write_rows([*read_rows(options.csv), row], options.csv)

    if options.memory:
        for name in ("full", "full-weak"):
            for size in (260, 192):
                recipe = RECIPES[name][1]
                step = setting.training("full", recipe, size).step
                add(name, size, False, step, predicted_gib(recipe, size))
        return
    kinds = ("full-weak", "weak", "full", "full-weak-norms", "base", "weak-norms")
    for search in (False, True):
        for name in kinds[: 2 if search else None]:
            form, recipe = RECIPES[name]
            training = setting.training(form, recipe, 224)
            gib = predicted_gib(recipe, 224) if form == "full" else None
            add(name, 224, search, training.step, gib)
            if options.tables is not None and name in ("full-weak", "weak"):
                table(training.step, setting.device, options.tables / f"kernels-{name}-{search}.txt")
            del training
        add("comatch", 224, search, setting.comatch())
    for size in (260, 192):
        recipe = RECIPES["full-weak"][1]
        add(
            "full-weak", size, False, setting.training("full", recipe, size).step, predicted_gib(recipe, size)
        )
    recipe = replace(RECIPES["full-weak"][1], batch=64)
    step = setting.training("full", recipe, 224).step
    add("full-weak batch 64", 224, False, step, predicted_gib(recipe, 224))
    views, rows = setting.views(224), torch.from_numpy(np.arange(96)).to(setting.device)
    generator = torch.Generator(setting.device).manual_seed(0)
    add("96 strong views", 224, False, lambda: views.strong(rows, generator))
    add("96 weak views", 224, False, lambda: views.weak(rows, generator))
    if options.compiled:
        for name in ("full-weak", "weak"):
            form, recipe = RECIPES[name]
            add(f"{name} compiled", 224, True, compiled(setting.training(form, recipe, 224)).step)


if __name__ == "__main__":
    main()
