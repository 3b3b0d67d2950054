"""Adapting a network to photos: recipes compared with each other, with CoMatch and with frozen features, one row per split.

    python benchmarks/adapt.py pack PHOTOS FILE.npz            photos and labels.csv of a folder as one file
    python benchmarks/adapt.py run FILE.npz --csv ROWS.csv --recipes base,comatch --splits 0 4 8 [--labels 8]
    python benchmarks/adapt.py summary ROWS.csv                means and paired differences

``run`` trains splits side by side in ``--jobs`` processes, appends a row as soon as it is finished, skips rows that are
there, and starts nothing new after ``--seconds``. With 8 labels per class of Flowers17 the splits are the paper's folds in
file order; otherwise a split is a random draw. ``head`` is the accuracy of the network's own head on unlabelled images;
``one_*`` of GRaNDe (DGCG, center-l2) and ``committee_*`` of automatic settings, on features of the adapted network from
the center of 224 pixels (c224) or the whole square at 224, 256 or 288 pixels (f224, f256, f288); ``both`` are frozen and
adapted features side by side.
"""

from __future__ import annotations

import argparse
import csv
import io
import multiprocessing
import os
import queue
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from common import hardware, read_rows, write_rows
from grande_gnn import GrandeClassifier
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.images.adapt import with_labels
from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.networks import load_trainable
from grande_gnn.images.soft_head import fit_head
from grande_gnn.images.view_source import LiveViews

BASE = Recipe()
COMATCH = Recipe(
    from_teacher=False, backbone_rate=1.0, align="uniform", soft_weights=False, mean_teacher=False
)

RECIPES: dict[str, tuple[Recipe, int]] = {
    "base": (BASE, 192),
    "comatch": (COMATCH, 224),
    "s224": (BASE, 224),
    "s160": (BASE, 160),
    "no-mean-teacher": (replace(BASE, mean_teacher=False), 192),
    "uniform": (replace(BASE, align="uniform"), 192),
    "no-alignment": (replace(BASE, align="none"), 192),
    "threshold": (replace(BASE, soft_weights=False), 192),
    "rate1": (replace(BASE, backbone_rate=1.0), 192),
    "rate0.1": (replace(BASE, backbone_rate=0.1), 192),
    "steps200": (replace(BASE, steps=200), 192),
    "steps800": (replace(BASE, steps=800), 192),
    "no-teacher": (replace(BASE, from_teacher=False), 192),
    "no-contrast": (replace(BASE, contrast=0.0), 192),
    "no-bank": (replace(BASE, smoothing=0.0), 192),
    "no-average": (replace(BASE, ema=0.0), 192),
    "again": (BASE, 192),
}
"""Recipe and size of the views, by name. ``again``: a second training whose teacher is GRaNDe on the adapted features."""

SIDE = 256
ONE = {"graph": "dgcg", "n_neighbors": 40, "normalize": "center-l2", "sigma": 0.2}
AUTO = dict.fromkeys(("graph", "n_neighbors", "normalize", "sigma"), "auto")


def pack(folder: Path, target: Path) -> None:
    """The photos of a folder with labels.csv, as they are, in one file."""
    with (folder / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    contents = [(folder / row["file"]).read_bytes() for row in rows]
    classes, labels = np.unique([row["label"] for row in rows], return_inverse=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        target, bytes=np.frombuffer(b"".join(contents), dtype=np.uint8), labels=labels, classes=classes,
        ends=np.cumsum([len(content) for content in contents]),
    )  # fmt: skip


def unpack(source: Path, side: int = SIDE) -> tuple[torch.Tensor, np.ndarray]:
    """The center squares of the photos (n, 3, side, side), and their class codes."""
    from grande_gnn.images.preprocess import Preprocess

    with np.load(source) as archive:
        data, ends, labels = archive["bytes"].tobytes(), archive["ends"], archive["labels"].astype(np.int64)
    whole = Preprocess(side, side)
    squares = torch.empty(len(labels), 3, side, side, dtype=torch.uint8)
    for row, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        image = Image.open(io.BytesIO(data[start:end])).convert("RGB")
        squares[row] = torch.from_numpy(whole.crop(image).copy()).permute(2, 0, 1)
    return squares, labels


def given_labels(labels: np.ndarray, per_class: int, split: int) -> np.ndarray:
    """The label codes with only those known that the split gives, −1 elsewhere."""
    counts = np.bincount(labels)
    if per_class == 8 and counts.min() == counts.max() == 80:
        return fold_labels(labels, paper_folds(labels)[split][0])
    rng = np.random.default_rng([split, per_class])
    rows = [rng.choice(np.flatnonzero(labels == c), per_class, replace=False) for c in range(len(counts))]
    return fold_labels(labels, np.concatenate(rows))


def probabilities(features: np.ndarray, codes: np.ndarray, device: str, **settings: Any) -> np.ndarray:
    """Class probabilities of every image by GRaNDe."""
    clf = GrandeClassifier(device=device, random_state=0, **settings).fit(features, codes)
    return clf.label_distributions_


def teacher(frozen: np.ndarray, codes: np.ndarray, split: int, options: argparse.Namespace) -> np.ndarray:
    """GRaNDe on frozen features; computed once for all recipes."""
    path = options.csv.with_name(
        f"teacher-{options.photos.stem}-{options.extractor}-{options.labels}-{split}.tmp.npy"
    )
    if path.exists():
        return np.load(path)
    P = probabilities(frozen, codes, options.device, **AUTO)
    part = path.with_name(f"{os.getpid()}-{path.name}")
    np.save(part, P)
    part.rename(path)
    return P


@torch.no_grad()
def features_of(network: torch.nn.Module, views: LiveViews, side: int, flip: bool = False) -> np.ndarray:
    """Features of the whole squares at ``side`` pixels; of the center of 224 if ``side`` is 0."""
    device, parts = views.device, []
    for rows in torch.arange(len(views.squares), device=device).split(128):
        if side:
            pixels = views._pixels(rows)
            if side != pixels.shape[-1]:
                pixels = torch.nn.functional.interpolate(
                    pixels, size=(side, side), mode="bicubic", antialias=True
                ).clamp(0, 1)
            inputs = views._inputs(pixels.flip(-1) if flip else pixels)
        else:
            inputs = views.center(rows)
        parts.append(network(inputs).float().cpu())
    return torch.cat(parts).numpy()


def both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Two kinds of features side by side, each centered and with rows of length 1."""
    parts = [x - x.mean(axis=0) for x in (one, other)]
    return np.concatenate([x / np.linalg.norm(x, axis=1, keepdims=True) for x in parts], axis=1)


def train(
    squares: torch.Tensor,
    codes: np.ndarray,
    P: np.ndarray,
    frozen: np.ndarray,
    recipe: Recipe,
    size: int,
    options: argparse.Namespace,
) -> tuple[AdaptTraining, LiveViews]:
    device = torch.device(options.device)
    loaded = load_trainable(options.extractor, options.weights).to(device)
    views = LiveViews(squares, loaded.preprocess, size, device)
    soft = torch.from_numpy(P.astype(np.float32)).to(device)
    training = AdaptTraining(
        loaded.network, views, torch.from_numpy(codes).to(device), recipe, n_classes=P.shape[1],
        n_features=frozen.shape[1], head=fit_head(torch.from_numpy(frozen).to(device), with_labels(soft, codes)),
        marginal=soft.mean(0), seed=options.seed,
    )  # fmt: skip
    while training.number < recipe.steps:
        training.step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return training, views


def measure(
    name: str, split: int, squares: torch.Tensor, labels: np.ndarray, options: argparse.Namespace
) -> tuple[dict[str, Any], np.ndarray]:
    """One row, and the adapted features."""
    recipe, size = RECIPES[name]
    if options.steps:
        recipe = replace(recipe, steps=options.steps, batch=4)
    codes = given_labels(labels, options.labels, split)
    test = codes < 0
    device = torch.device(options.device)

    def accuracy(P: np.ndarray) -> float:
        return round(100 * float(np.mean(P.argmax(axis=1)[test] == labels[test])), 3)

    def one(X: np.ndarray) -> float:
        return accuracy(probabilities(X, codes, options.device, **ONE))

    start = time.perf_counter()
    loaded = load_trainable(options.extractor, options.weights).to(device)
    views = LiveViews(squares, loaded.preprocess, size, device)
    frozen = features_of(loaded.network, views, 0)
    P = teacher(frozen, codes, split, options)
    row: dict[str, Any] = {
        "recipe": name, "photos": options.photos.stem, "labels": options.labels, "split": split, "size": size,
        "extractor": options.extractor, "steps": recipe.steps, "frozen": accuracy(P),
    }  # fmt: skip
    prepared = time.perf_counter()
    training, views = train(squares, codes, P, frozen, recipe, size, options)
    row["train_seconds"] = round(time.perf_counter() - prepared, 2)
    network = training.average.backbone
    if name == "again":
        P = probabilities(features_of(network, views, SIDE), codes, options.device, **AUTO)
        training, views = train(squares, codes, P, frozen, recipe, size, options)
        network = training.average.backbone
    row["head"] = accuracy(training.predict().cpu().numpy())
    kinds = {"c224": (0, False), "f224": (224, False), "f256": (256, False), "f288": (288, False)}
    adapted = {kind: features_of(network, views, *how) for kind, how in kinds.items()}
    adapted["flip"] = (adapted["f256"] + features_of(network, views, 256, True)) / 2
    row |= {f"one_{kind}": one(X) for kind, X in adapted.items()}
    row["one_both"] = one(both(frozen, adapted["f256"]))
    done = time.perf_counter()
    row["committee_f256"] = accuracy(probabilities(adapted["f256"], codes, options.device, **AUTO))
    row["committee_seconds"] = round(time.perf_counter() - done, 2)
    row["seconds"] = round(time.perf_counter() - start, 2)
    if device.type == "cuda":
        row["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return row | {"jobs": options.jobs}, adapted["f256"]


def work(tasks: Any, results: Any, options: Any) -> None:
    """A process: measure until nothing is left or the time is up."""
    torch.set_num_threads(1 if options.device == "cpu" else 2)
    squares, labels = unpack(options.photos)
    while time.time() < options.until:
        try:
            task = tasks.get_nowait()
        except queue.Empty:
            break
        try:
            results.put((task, *measure(*task, squares, labels, options)))
        except Exception:
            results.put((task, traceback.format_exc(), None))
    results.put(None)


def run(options: argparse.Namespace) -> None:
    options.until = time.time() + options.seconds
    rows = read_rows(options.csv)
    finished = {(r["recipe"], r["photos"], int(r["labels"]), int(r["split"]), r["extractor"]) for r in rows}
    wanted = [
        (name, split)
        for split in options.splits
        for name in options.recipes.split(",")
        if (name, options.photos.stem, options.labels, split, options.extractor) not in finished
    ]
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    for task in wanted:
        tasks.put(task)
    time.sleep(0.2)  # the queue is filled by a thread
    arguments = (tasks, results, options)
    processes = [context.Process(target=work, args=arguments) for _ in range(options.jobs)]
    for process in processes:
        process.start()
    waiting, kept = len(processes), {}
    while waiting:
        try:
            got = results.get(timeout=5)
        except queue.Empty:
            if not any(process.is_alive() for process in processes):
                break
            continue
        if got is None:
            waiting -= 1
            continue
        task, row, features = got
        if isinstance(row, str):
            print(task, row, flush=True)
            continue
        print({k: v for k, v in row.items() if k not in ("photos", "extractor")}, flush=True)
        rows.append(row | hardware())
        write_rows(rows, options.csv)
        if options.features is not None:
            kept["-".join(map(str, task))] = reduced(features)
            np.savez(options.features, **kept)
    for process in processes:
        process.join(timeout=5)
        process.kill()
    for path in options.csv.parent.glob("teacher-*.tmp.npy"):
        path.unlink()


def reduced(features: np.ndarray, width: int = 256) -> np.ndarray:
    """The same distances, almost, in fewer columns and float16."""
    X = features - features.mean(axis=0)
    _, _, V = np.linalg.svd(X, full_matrices=False)
    return (X @ V[:width].T).astype(np.float16)


def summary(path: Path, against: str) -> None:
    """Means over splits, and the paired difference to one recipe with its 95 % interval."""
    rows = read_rows(path)
    columns = [c for c in rows[0] if c in ("frozen", "head") or c.startswith(("one_", "committee_f"))]
    groups = sorted({(r["photos"], int(r["labels"]), r["extractor"]) for r in rows})
    for group in groups:
        own = [r for r in rows if (r["photos"], int(r["labels"]), r["extractor"]) == group]
        print(*group)
        base = {r["split"]: r for r in own if r["recipe"] == against}
        print("| recipe | splits |", " | ".join(columns), f"| committee − {against} | seconds |")
        print("|---|---|" + "---|" * (len(columns) + 2))
        for name in dict.fromkeys(r["recipe"] for r in own):
            mine = [r for r in own if r["recipe"] == name]
            means = [np.mean([float(r[c]) for r in mine]) for c in columns]
            pairs = [(r, base[r["split"]]) for r in mine if r["split"] in base]
            d = [float(a["committee_f256"]) - float(b["committee_f256"]) for a, b in pairs]
            half = 1.96 * np.std(d, ddof=1) / np.sqrt(len(d)) if len(d) > 1 else float("nan")
            seconds = np.mean([float(r["train_seconds"]) for r in mine])
            text = " | ".join(f"{m:.2f}" for m in means)
            gap = f"{np.mean(d):+.2f} ± {half:.2f}" if d else ""
            print(f"| {name} | {len(mine)} | {text} | {gap} | {seconds:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("target", type=Path)
    running = commands.add_parser("run")
    running.add_argument("photos", type=Path)
    running.add_argument("--csv", type=Path, required=True)
    running.add_argument("--recipes", default=",".join(RECIPES))
    running.add_argument("--splits", type=int, nargs="+", default=[0, 4, 8])
    running.add_argument("--labels", type=int, default=8, help="labels per class")
    running.add_argument("--extractor", default="lite0")
    running.add_argument(
        "--weights", type=Path, help="state dictionary, if the extractor's package is not there"
    )
    running.add_argument("--jobs", type=int, default=3, help="trainings side by side")
    running.add_argument("--seconds", type=float, default=1e9, help="start nothing new after so long")
    running.add_argument("--steps", type=int, default=0, help="so many small steps, for tests")
    running.add_argument("--features", type=Path, help="keep the adapted features here")
    running.add_argument("--seed", type=int, default=0)
    running.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    showing = commands.add_parser("summary")
    showing.add_argument("csv", type=Path)
    showing.add_argument("--against", default="base")
    options = parser.parse_args()
    if options.command == "pack":
        pack(options.folder, options.target)
    elif options.command == "summary":
        summary(options.csv, options.against)
    else:
        run(options)


if __name__ == "__main__":
    main()
