"""How long ``grande label --adapt`` takes from photos to report, and CoMatch's training alone after it.

    python benchmarks/adapt_time.py PHOTOS.npz --csv ROWS.csv [--recipe weak] [--split 0] [--per-class 8] [--weights FILE]

PHOTOS.npz is what ``benchmarks/adapt.py pack`` wrote. Nothing is kept between runs: the feature store is a new folder.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adapt import RECIPES, given_labels, unpack
from common import read_rows, write_rows
from grande_gnn import label_images
from grande_gnn.baselines.comatch import CoMatch, CoMatchTraining
from grande_gnn.images.adapt import AdaptOptions
from grande_gnn.images.adapt_training import Recipe
from grande_gnn.labelling import LabelOptions
from grande_gnn.labelling.run import Step


def write_photos(source: Path, target: Path, per_class: int, split: int) -> tuple[list[str], np.ndarray]:
    """The photos as files with labels.csv beside them; returns the class of each and the given codes."""
    with np.load(source) as archive:
        data, ends, labels = archive["bytes"].tobytes(), archive["ends"], archive["labels"].astype(np.int64)
        classes = archive["classes"].astype(str)
    given = given_labels(labels, per_class, split)
    target.mkdir()
    with (target / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "label"))
        for row, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            name = f"{row:05d}.jpg"
            (target / name).write_bytes(data[start:end])
            writer.writerow((name, classes[given[row]] if given[row] >= 0 else ""))
    return [str(classes[code]) for code in labels], given


def label(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """A row with the time of each stage that reported itself, and of everything."""
    truth, given = write_photos(options.photos, folder / "photos", options.per_class, options.split)
    form, recipe = RECIPES[options.recipe] if options.recipe else (options.form, None)
    if options.steps:
        recipe = replace(recipe or Recipe(), steps=options.steps, batch=4, ratio=2)
    size = 192 if form == "full192" else None
    form = form.removesuffix("192")
    how = AdaptOptions(form, recipe, size, weights=options.weights, device=options.device)
    chosen = LabelOptions(
        adapt=how, weights=options.weights, extractor=options.extractor, store=folder / "store",
        device=options.device, workers=options.workers,
    )  # fmt: skip
    start = time.perf_counter()

    def told(step: Step) -> None:
        if step.message or step.done == step.total:
            print(f"{time.perf_counter() - start:7.1f} s  {step}", flush=True)

    result = label_images(folder / "photos", folder / "out", chosen, told)
    seconds = time.perf_counter() - start
    right = np.array([a == b for a, b in zip(result.labels, truth, strict=True)])
    notes: Any = result.settings["adapt"]
    row = {
        "photos": options.photos.stem, "labels": options.per_class, "split": options.split, "form": form,
        "recipe": options.recipe, "seconds": round(seconds, 1), "used": notes.get("used", ""),
        "accuracy": round(100 * float(right[given < 0].mean()), 3),
    }  # fmt: skip
    expected = result.accuracy
    assert expected is not None
    return row | {"low": round(100 * expected.low, 2), "high": round(100 * expected.high, 2)}


def comatch_seconds(options: argparse.Namespace) -> float:
    """The training of CoMatch on the same labels, with the photos in memory."""
    squares, labels = unpack(options.photos, 256)
    device = torch.device(options.device)
    codes = torch.from_numpy(given_labels(labels, options.per_class, options.split)).to(device)
    system = CoMatch(weights=options.weights, random_state=0, device=options.device)
    start = time.perf_counter()
    training = CoMatchTraining(system, squares.to(device), codes)
    for number in range(system.steps):
        training.step(number)
    training.predict()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--recipe", default="", help="one of benchmarks/adapt.py; otherwise the default")
    parser.add_argument("--form", default="last", help="the form, if no recipe is named")
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--per-class", type=int, default=8)
    parser.add_argument("--extractor", default="lite0")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--steps", type=int, default=0, help="a short try: so many steps of small batches")
    parser.add_argument("--search", action="store_true", help="let cuDNN search for the fastest convolutions")
    parser.add_argument("--comatch", action="store_true", help="also time CoMatch's training")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = options.search
    with tempfile.TemporaryDirectory() as folder:
        row = label(options, Path(folder))
    if options.comatch:
        row["comatch_seconds"] = round(comatch_seconds(options), 1)
    print(row, flush=True)
    write_rows([*read_rows(options.csv), row], options.csv)


if __name__ == "__main__":
    main()
