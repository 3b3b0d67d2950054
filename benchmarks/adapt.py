"""Adapting a network to photos: recipes compared with each other and with frozen features, one row per split.

    python benchmarks/adapt.py pack PHOTOS FILE.npz            photos and labels.csv of a folder as one file
    python benchmarks/adapt.py run FOLDER flowers17:8:5:judged-base:0-9 --csv ROWS.csv   photos:labels:blocks:recipes:splits
    python benchmarks/adapt.py summary ROWS.csv                means and paired differences

``pack --with OTHERS`` adds a folder, ``--uneven 10`` leaves out photos, ``--unlabelled 3`` keeps labels from three classes.
``run`` appends a row as soon as it is finished, skips rows that are there, and starts nothing new after ``--seconds``.
Splits are trained side by side in ``--jobs`` processes. With 8 labels per class of Flowers17 they are the paper's folds in
file order; otherwise each is a random draw.

Accuracies are those on unlabelled images: ``frozen`` of GRaNDe with automatic settings on the network as it comes,
``head`` of the adapted network's own head, ``adapted`` and ``both`` of GRaNDe on adapted features and on both side by side,
``mixed`` of the mean of the probabilities of ``head`` and ``both``.
A row of the recipe ``judged-NAME`` adds what judges: networks adapted with halves of the labels, ``used`` is what they
choose, ``answer`` its accuracy, and ``low`` to ``high`` the interval of the expected accuracy; ``low_both`` is the same for
``both``, whatever they choose. ``rounds-NAME`` is the same in two rounds: the networks adapted with halves come first, and
GRaNDe on their features teaches the network that sees all labels. ``all`` is GRaNDe on the features of all networks at once.
(Rows with ``mean`` and ``tilted`` had ``both`` with a network whose weights are the mean of the three that were adapted,
with equal shares or half of them from the one that saw all labels; rows with ``three`` the probabilities of the head beside
the features of both.)
A row of ``comatch`` has the accuracy of CoMatch as ``head``, and a row of ``logistic`` that of logistic regression on the
features of the original network, with its parameters chosen by cross-validation.
"""

from __future__ import annotations

import argparse
import copy
import csv
import io
import itertools
import multiprocessing
import queue
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image

from class_shares import uneven
from committee import logistic
from common import hardware, read_rows, write_rows
from grande_gnn import GrandeClassifier
from grande_gnn.baselines.comatch import CoMatch, CoMatchTraining
from grande_gnn.classifier.halves import HalfFeatures
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.experiments.statistics import interval_over_folds
from grande_gnn.images.adapt import DEFAULTS, kept_views, teach_again, with_labels
from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.class_shares import class_shares
from grande_gnn.images.networks import load_extractor, load_trainable
from grande_gnn.images.side_by_side import unit_rows
from grande_gnn.images.soft_head import fit_head
from grande_gnn.images.squares import square
from grande_gnn.images.view_source import CachedViews, LiveViews, TrunkViews
from grande_gnn.labelling.adapting import chosen_features, held_out_hits
from grande_gnn.labelling.assess import assess

BASE = replace(Recipe(), align="predicted")
"""The recipe with which the others were compared. The default since then also estimates the shares of the classes anew."""
ONCE = replace(BASE, lessons=0)
"""The teacher answers only before the training."""
SGD = replace(ONCE, optimizer="sgd", lr=0.03, weight_decay=5e-4, frozen_norms=False, clip=0.0)
COMATCH = replace(
    SGD, from_teacher=False, backbone_rate=1.0, align="uniform", soft_weights=False, mean_teacher=False
)
CPU = replace(DEFAULTS["cpu"]["recipe"], align="predicted")

RECIPES: dict[str, tuple[str, Recipe]] = {
    "default": ("live", Recipe()),  # on a GPU, with the last 11 blocks
    "default-cpu": ("last", DEFAULTS["cpu"]["recipe"]),
    "base": ("last", BASE),
    "no-lesson": ("last", ONCE),
    "three-lessons": ("last", replace(BASE, lessons=3)),
    "weak": ("last", replace(BASE, contrast_with="weak")),
    "batch-norms": ("last", replace(BASE, frozen_norms=False)),
    "no-clip": ("last", replace(BASE, clip=0.0)),
    "rate0.1": ("last", replace(BASE, backbone_rate=0.1)),
    "rate1": ("last", replace(BASE, backbone_rate=1.0)),
    "steps200": ("last", replace(BASE, steps=200)),
    "steps600": ("last", replace(BASE, steps=600)),
    "steps800": ("last", replace(BASE, steps=800)),
    "anneal": ("last", replace(BASE, anneal=0.5)),
    "steps600-anneal": ("last", replace(BASE, steps=600, anneal=0.5)),
    "steps800-anneal": ("last", replace(BASE, steps=800, anneal=0.5)),
    "steps1200-anneal": ("last", replace(BASE, steps=1200, anneal=0.5)),
    "weak-600": ("last", replace(BASE, contrast_with="weak", steps=600)),
    "weak-800": ("last", replace(BASE, contrast_with="weak", steps=800)),
    "no-mean-teacher": ("last", replace(BASE, mean_teacher=False)),
    "uniform": ("last", replace(BASE, align="uniform")),
    "no-alignment": ("last", replace(BASE, align="none")),
    "threshold": ("last", replace(BASE, soft_weights=False)),
    "no-teacher": ("last", replace(BASE, from_teacher=False, lessons=0)),
    "no-contrast": ("last", replace(BASE, contrast=0.0)),
    "no-bank": ("last", replace(BASE, smoothing=0.0)),
    "no-average": ("last", replace(BASE, ema=0.0)),
    "ema0.995": ("last", replace(BASE, ema=0.995)),
    "ratio5": ("last", replace(BASE, ratio=5)),
    "steps800-two-lessons": ("last", replace(BASE, steps=800, lessons=2)),
    "steps800-three-lessons": ("last", replace(BASE, steps=800, lessons=3)),
    "new-views": ("live", BASE),
    "no-lesson-rate0.1": ("last", replace(ONCE, backbone_rate=0.1)),
    "no-lesson-rate1": ("last", replace(ONCE, backbone_rate=1.0)),
    "no-lesson-weak-200": ("last", replace(ONCE, contrast_with="weak", steps=200)),
    "no-lesson-large": ("last", replace(ONCE, batch=64, ratio=5, steps=250)),
    "full": ("full", BASE),
    "full-no-lesson-rate0.1": ("full", replace(ONCE, backbone_rate=0.1)),
    "full192-rate0.1": ("full192", replace(BASE, backbone_rate=0.1)),
    "full192-no-lesson-rate0.1": ("full192", replace(ONCE, backbone_rate=0.1)),
    "full192-no-lesson": ("full192", ONCE),
    "cpu": ("last", CPU),
    "cpu-ratio4": ("last", replace(CPU, ratio=4)),
    "sgd": ("last", SGD),
    "sgd-weak": ("last", replace(SGD, contrast_with="weak")),
    "sgd-full192": ("full192", SGD),
    "sgd-full192-lesson": ("full192", replace(SGD, lessons=1)),
    "sgd-full192-norms-clip": ("full192", replace(SGD, frozen_norms=True, clip=1.0)),
    "sgd-full192-norms-clip-lesson": ("full192", replace(SGD, frozen_norms=True, clip=1.0, lessons=1)),
    "sgd-cpu-100": ("last", replace(SGD, frozen_norms=True, clip=1.0, steps=100, batch=16, ratio=2)),
    "sgd-cpu-200": ("last", replace(SGD, frozen_norms=True, clip=1.0, steps=200, batch=16, ratio=2)),
    "comatch-like": ("last", COMATCH),
}
"""Form and recipe by name. ``live``: the last blocks on new views at every step, instead of views computed once.
``full192``: the whole network on views of 192 pixels."""

CHANGES: dict[str, dict[str, Any]] = {
    "no-teacher": {"from_teacher": False, "lessons": 0},
    "no-alignment": {"align": "none"},
    "threshold": {"soft_weights": False},
    "no-bank": {"smoothing": 0.0},
    "no-contrast": {"contrast": 0.0},
    "no-mean-teacher": {"mean_teacher": False},
    "no-average": {"ema": 0.0},
    "no-clip": {"clip": 0.0},
    "batch-norms": {"frozen_norms": False},
    "rate0.1": {"backbone_rate": 0.1},
    "rate1": {"backbone_rate": 1.0},
}
"""One piece of a default that is left out or changed: the recipes ``default-NAME`` and ``default-cpu-NAME``."""

for default in ("default", "default-cpu"):
    form, recipe = RECIPES[default]
    RECIPES |= {f"{default}-{name}": (form, replace(recipe, **change)) for name, change in CHANGES.items()}

JUDGED, ROUNDS = "judged-", "rounds-"
"""Before the name of a recipe: networks adapted with halves of the labels judge the result; and they also teach."""

NEW_VIEWS = "new-views-"
"""Before the name of a recipe of the last blocks: with new views at every step, as on a GPU by default."""

KEY = ("photos", "labels", "blocks", "recipe", "split", "extractor")
"""What makes a row another one."""

AUTO = dict.fromkeys(("graph", "n_neighbors", "normalize", "sigma"), "auto")


def find_recipe(name: str) -> tuple[str, Recipe]:
    """Form and recipe of a name, which may begin with :data:`NEW_VIEWS`."""
    if name not in RECIPES and name.startswith(NEW_VIEWS):
        return "live", RECIPES[name.removeprefix(NEW_VIEWS)][1]
    return RECIPES[name]


def pack(folders: list[Path], target: Path, ratio: float = 1.0, unlabelled: int = 0) -> None:
    """The photos of folders with labels.csv, as they are, in one file.

    ``ratio`` leaves out photos until the largest class has so many times the photos of the smallest. ``unlabelled`` classes
    never get a label; they come last.
    """
    contents: list[bytes] = []
    names: list[str] = []
    for folder in folders:
        with (folder / "labels.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                contents.append((folder / row["file"]).read_bytes())
                names.append(row["label"])
    classes, labels = np.unique(names, return_inverse=True)
    rng = np.random.default_rng(0)
    kept = uneven(labels, ratio, rng) if ratio > 1 else np.arange(len(labels))
    if unlabelled:
        order = rng.permutation(len(classes))
        classes, labels = classes[order], np.argsort(order)[labels]
    contents, labels = [contents[i] for i in kept], labels[kept]
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        target, bytes=np.frombuffer(b"".join(contents), dtype=np.uint8), labels=labels, classes=classes,
        ends=np.cumsum([len(content) for content in contents]), named=len(classes) - unlabelled,
    )  # fmt: skip


def unpack(source: Path, side: int) -> tuple[torch.Tensor, np.ndarray]:
    """The center squares of the photos (n, 3, side, side), and their class codes."""
    from grande_gnn.images.preprocess import Preprocess

    with np.load(source) as archive:
        data, ends, labels = archive["bytes"].tobytes(), archive["ends"], archive["labels"].astype(np.int64)
    whole = Preprocess(side, side)
    squares = torch.empty(len(labels), 3, side, side, dtype=torch.uint8)
    starts = [0, *ends[:-1]]

    def read(row: int) -> None:
        image = Image.open(io.BytesIO(data[starts[row] : ends[row]])).convert("RGB")
        squares[row] = square(image, whole)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(read, range(len(labels))))
    return squares, labels


def given_labels(labels: np.ndarray, per_class: int, split: int, named: int | None = None) -> np.ndarray:
    """The label codes with only those known that the split gives, −1 elsewhere; the first ``named`` classes have labels.

    At least half of each class is left without labels.
    """
    counts = np.bincount(labels)
    if per_class == 8 and counts.min() == counts.max() == 80:
        return fold_labels(labels, paper_folds(labels)[split][0])
    rng = np.random.default_rng([split, per_class])
    rows = [
        rng.choice(np.flatnonzero(labels == c), min(per_class, counts[c] // 2), replace=False)
        for c in range(named or len(counts))
    ]
    return fold_labels(labels, np.concatenate(rows))


class Task(NamedTuple):
    """One row to be measured."""

    photos: str
    labels: int
    blocks: int
    recipe: str
    split: int

    @classmethod
    def parse(cls, text: str) -> list[Task]:
        """``photos:labels:blocks:recipes:splits``; recipes and splits are separated by +, splits may be a range 0-9."""
        photos, labels, blocks, recipes, splits = text.split(":")
        first, _, last = splits.partition("-")
        chosen = range(int(first), int(last) + 1) if last else map(int, splits.split("+"))
        return [
            cls(photos, int(labels), int(blocks), recipe, split)
            for split in chosen
            for recipe in recipes.split("+")
        ]


class Photos:
    """The photos on the device, the frozen features, and the maps of views that all splits share."""

    def __init__(self, task: Task, options: argparse.Namespace) -> None:
        self.device, self.options = torch.device(options.device), options
        self.name, self.blocks = task.photos, task.blocks
        self.file = options.folder / f"{task.photos}.npz"
        with np.load(self.file) as archive:
            self.labels = archive["labels"].astype(np.int64)
            self.named = int(archive["named"]) if "named" in archive else None
        self.loaded = load_trainable(options.extractor, options.weights).to(self.device)
        self.tail = self.loaded.network.split(task.blocks)[1]
        fast = load_extractor(options.extractor, options.weights).to(self.device)
        self.trunk = fast.network.split(task.blocks)[0].eval()
        self.live = LiveViews(
            unpack(self.file, self.loaded.preprocess.resize)[0], self.loaded.preprocess,
            self.loaded.preprocess.size, self.device,
        )  # fmt: skip
        self.small = LiveViews(self.live.squares, self.loaded.preprocess, 192, self.device)
        self.frozen = self.features(self.loaded.network.eval(), self.live)
        self.judges: dict[tuple[int, int], GrandeClassifier] = {}
        self.halves: dict[tuple[int, int, str, Recipe], list[np.ndarray]] = {}
        self.error: float | None = None
        """The share of wrong labels that is expected from the original network with the labels of the present row."""
        self.view_seconds = 0.0

    @cached_property
    def kept(self) -> CachedViews:
        """The maps that all splits share, also with later runs if there is a folder for them."""
        start = time.perf_counter()
        key = f"{self.name}-{self.options.extractor}-{self.blocks}-{self.options.views}"
        path = self.options.maps and self.options.maps / f"maps-{key}.npy"
        if path and path.exists():
            return CachedViews.from_maps(torch.from_numpy(np.load(path)).to(self.device))
        kept = kept_views(self.live, self.trunk, len(self.labels), self.options.views)
        assert isinstance(kept, CachedViews)
        if path:
            np.save(path, kept.maps.cpu().numpy())
        self.view_seconds = time.perf_counter() - start
        return kept

    @torch.no_grad()
    def features(self, network: torch.nn.Module, views: Any) -> np.ndarray:
        rows = torch.arange(len(self.labels), device=self.device)
        return torch.cat([network(views.center(part)).float().cpu() for part in rows.split(128)]).numpy()

    def classifier(self, X: np.ndarray, labels: list[str], **more: Any) -> GrandeClassifier:
        clf = GrandeClassifier(self.options.model, device=self.options.device, random_state=0, **AUTO)
        return clf.fit(X, labels, **more)

    def teacher(self, key: tuple[int, int], codes: np.ndarray) -> GrandeClassifier:
        if key not in self.judges:
            names = [f"{code:03d}" if code >= 0 else "" for code in codes]
            self.judges[key] = self.classifier(self.frozen, names)
        return self.judges[key]

    def teach(
        self, features: np.ndarray, codes: np.ndarray, more: list[np.ndarray] | None = None
    ) -> np.ndarray:
        """GRaNDe's answer from some features, and from more of them side by side."""
        names = [f"{code:03d}" if code >= 0 else "" for code in codes]
        beside = [features, *map(unit_rows, more or [])]
        return self.classifier(np.concatenate(beside, axis=1), names).label_distributions_

    def half_features(self, task: Task, codes: np.ndarray, form: str, recipe: Recipe) -> list[np.ndarray]:
        """The features of the networks adapted with each half of the labels."""
        key = (task.labels, task.split, form, recipe)
        if key not in self.halves:
            halves = self.teacher(key[:2], codes).halves_
            self.halves[key] = [
                self.train(np.where(known, codes, -1), P, form, recipe)[0]
                for known, P in zip(halves.known, halves.probabilities, strict=True)
            ]
        return self.halves[key]

    def train(
        self,
        codes: np.ndarray,
        P: np.ndarray,
        form: str,
        recipe: Recipe,
        more: list[np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The adapted features, and the probabilities of the network's own head; the teacher also sees ``more`` features."""
        network, views = {
            "last": lambda: (self.tail, self.kept),
            "live": lambda: (self.tail, TrunkViews(self.live, self.trunk)),
            "full": lambda: (self.loaded.network, self.live),
            "full192": lambda: (self.loaded.network, self.small),
        }[form]()
        soft = torch.from_numpy(P.astype(np.float32)).to(self.device)
        frozen = torch.from_numpy(self.frozen).to(self.device)
        training = AdaptTraining(
            copy.deepcopy(network), views, torch.from_numpy(codes).to(self.device), recipe, n_classes=P.shape[1],
            n_features=frozen.shape[1], head=fit_head(frozen, with_labels(soft, codes)), seed=self.options.seed,
            marginal=class_shares(soft, recipe.align, self.error),
        )  # fmt: skip
        while training.number < recipe.steps:
            training.step()
            if training.is_lesson:
                teach_again(training, partial(self.teach, more=more), self.frozen, codes, self.error)
        return self.features(training.average.backbone, views), training.predict().cpu().numpy()


def both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Two kinds of features side by side, as ``grande label`` joins them."""
    return np.concatenate([unit_rows(one), unit_rows(other)], axis=1)


def half_recipe(recipe: Recipe, options: argparse.Namespace) -> Recipe:
    """How the networks are adapted with half of the labels: as the one with all, unless another recipe is named."""
    return find_recipe(options.half_recipe)[1] if options.half_recipe else recipe


def comatch(task: Task, photos: Photos, options: argparse.Namespace) -> dict[str, Any]:
    """A row with the accuracy of CoMatch by its own head, and the time of its training."""
    codes = given_labels(photos.labels, task.labels, task.split, photos.named)
    start = time.perf_counter()
    system = CoMatch(weights=options.weights, random_state=options.seed, device=options.device)
    if options.steps:
        system.set_params(steps=options.steps, batch=options.batch, ratio=options.ratio)
    squares = photos.live.squares.to(photos.device)
    training = CoMatchTraining(system, squares, torch.from_numpy(codes).to(photos.device))
    for number in range(system.steps):
        training.step(number)
    predicted = training.predict()
    seconds = round(time.perf_counter() - start, 2)
    right = (predicted == photos.labels)[codes < 0]
    return {
        **task._asdict(), "form": "comatch", "extractor": options.extractor, "model": "", "steps": system.steps,
        "batch": system.batch, "head": round(100 * float(right.mean()), 3), "train_seconds": seconds, "jobs": options.jobs,
    }  # fmt: skip


def logistic_regression(task: Task, photos: Photos, options: argparse.Namespace) -> dict[str, Any]:
    """A row with the accuracy of logistic regression on the features of the original network."""
    codes = given_labels(photos.labels, task.labels, task.split, photos.named)
    start = time.perf_counter()
    right = (logistic(photos.frozen, codes) == photos.labels)[codes < 0]
    return {
        **task._asdict(), "form": "logistic", "extractor": options.extractor, "model": "",
        "head": round(100 * float(right.mean()), 3), "train_seconds": round(time.perf_counter() - start, 2),
        "jobs": options.jobs,
    }  # fmt: skip


def measure(task: Task, photos: Photos, options: argparse.Namespace) -> dict[str, Any]:
    """One row."""
    if task.recipe == "comatch":
        return comatch(task, photos, options)
    if task.recipe == "logistic":
        return logistic_regression(task, photos, options)
    has_rounds = task.recipe.startswith(ROUNDS)
    is_judged = has_rounds or task.recipe.startswith(JUDGED)
    form, recipe = find_recipe(task.recipe.removeprefix(JUDGED).removeprefix(ROUNDS))
    if options.steps:
        recipe = replace(recipe, steps=options.steps, batch=options.batch, ratio=options.ratio)
    labels = photos.labels
    codes = given_labels(labels, task.labels, task.split, photos.named)
    test = codes < 0

    def accuracy(P: np.ndarray) -> float:
        return round(100 * float(np.mean(P.argmax(axis=1)[test] == labels[test])), 3)

    start = time.perf_counter()
    teacher = photos.teacher((task.labels, task.split), codes)
    row: dict[str, Any] = {
        **task._asdict(), "form": form, "extractor": options.extractor, "model": options.model,
        "steps": recipe.steps, "batch": recipe.batch, "views": options.views,
        "frozen": accuracy(teacher.label_distributions_),
    }  # fmt: skip
    names = [f"{code:03d}" if code >= 0 else "" for code in codes]
    photos.error = 1 - assess(teacher, names, [str(i) for i in range(len(names))]).accuracy.value
    judges: list[np.ndarray] = []
    first, beside = teacher.label_distributions_, None
    if is_judged:
        judges = photos.half_features(task, codes, form, half_recipe(recipe, options))
    if has_rounds:
        beside = judges
        first = photos.teach(unit_rows(photos.frozen), codes, beside)
        row["first"] = accuracy(first)
    begin = time.perf_counter()
    adapted, own = photos.train(codes, first, form, recipe, beside)
    row |= {"train_seconds": round(time.perf_counter() - begin, 2), "head": accuracy(own)}
    sources = {"adapted": adapted, "both": both(photos.frozen, adapted)}
    more: dict[str, dict[str, Any]] = {used: {} for used in sources}
    if is_judged:
        pairs = {"adapted": judges, "both": [both(photos.frozen, X) for X in judges]}
        known = teacher.halves_.known
        more = {used: {"halves": HalfFeatures(known, tuple(pair))} for used, pair in pairs.items()}
    fitted = {used: photos.classifier(X, names, **more[used]) for used, X in sources.items()}
    row |= {used: accuracy(clf.label_distributions_) for used, clf in fitted.items()}
    if has_rounds:
        row["all"] = accuracy(photos.teach(sources["both"], codes, judges))
    row["mixed"] = accuracy(own + fitted["both"].label_distributions_)
    if options.dump:
        answers = {used: clf.label_distributions_.astype(np.float16) for used, clf in fitted.items()}
        name = "-".join(map(str, task))
        kept = {"features": adapted.astype(np.float16)} if options.dump_features else {}
        np.savez(
            options.dump / f"{name}-{options.extractor}.npz", own=own.astype(np.float16), **answers, **kept
        )
    if is_judged:
        fitted["frozen"] = teacher
        right = {used: held_out_hits(clf.halves_) for used, clf in fitted.items()}
        used = chosen_features(right)
        row |= {f"held_out_{key}": int(each.sum()) for key, each in right.items()}
        for key, clf in fitted.items():
            expected = assess(clf, names, [str(i) for i in range(len(names))]).accuracy
            row |= {
                f"expected_{key}": round(100 * expected.value, 2),
                f"low_{key}": round(100 * expected.low, 2), f"high_{key}": round(100 * expected.high, 2),
            }  # fmt: skip
        row |= {"used": used, "answer": row[used]}
        row |= {name: row[f"{name}_{used}"] for name in ("expected", "low", "high")}
        row["holds"] = row["low"] <= row["answer"] <= row["high"]
    row |= {"seconds": round(time.perf_counter() - start, 2), "view_seconds": round(photos.view_seconds, 2)}
    if photos.device.type == "cuda":
        row["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return row | {"jobs": options.jobs}


def work(tasks: Any, results: Any, options: Any) -> None:
    """A process: measure until nothing is left or the time is up."""
    torch.set_num_threads(max(1, 2 // options.jobs) if options.device == "cpu" else 2)
    torch.backends.cudnn.benchmark = options.search
    photos = None
    while time.time() < options.until:
        try:
            group = tasks.get_nowait()
        except queue.Empty:
            break
        for task in group:
            if time.time() >= options.until:
                break
            try:
                if photos is None or (photos.name, photos.blocks) != (task.photos, task.blocks):
                    photos = None  # its memory first
                    photos = Photos(task, options)
                results.put((task, measure(task, photos, options)))
            except Exception:
                results.put((task, traceback.format_exc()))
    results.put(None)


def run(options: argparse.Namespace) -> None:
    options.until = time.time() + options.seconds
    rows = read_rows(options.csv)
    finished = {tuple(str(r[key]) for key in KEY) for r in rows}
    listed = [task for text in options.tasks for task in Task.parse(text)]
    wanted = [task for task in listed if (*map(str, task), options.extractor) not in finished]
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    for _, group in itertools.groupby(wanted, key=lambda task: task[:3] + task[4:]):
        tasks.put(list(group))  # one process measures all recipes of a split: they share some of the work
    time.sleep(0.2)  # the queue is filled by a thread
    arguments = (tasks, results, options)
    processes = [context.Process(target=work, args=arguments) for _ in range(options.jobs)]
    for process in processes:
        process.start()
    waiting = len(processes)
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
        task, row = got
        if isinstance(row, str):
            print(task, row, flush=True)
            continue
        print({k: v for k, v in row.items() if k not in ("extractor", "form", "jobs")}, flush=True)
        rows.append(row | hardware())
        write_rows(rows, options.csv)
    for process in processes:
        process.join(timeout=5)
        process.kill()


def summary(path: Path, against: str) -> None:
    """Means over splits, and the paired difference to one recipe with its 95 % interval."""
    rows = read_rows(path)
    columns = [c for c in rows[0] if c in ("frozen", "head", "adapted", "both", "answer")]
    groups = sorted({(r["photos"], int(r["labels"]), int(r["blocks"]), r["extractor"]) for r in rows})
    for group in groups:
        own = [r for r in rows if (r["photos"], int(r["labels"]), int(r["blocks"]), r["extractor"]) == group]
        print(*group)
        base = {r["split"]: r for r in own if r["recipe"] == against}
        print("| recipe | splits |", " | ".join(columns), f"| both − {against} | seconds |")
        print("|---|---|" + "---|" * (len(columns) + 2))
        for name in dict.fromkeys(r["recipe"] for r in own):
            mine = [r for r in own if r["recipe"] == name]
            means = [np.mean([float(r[c]) for r in mine if r[c]] or [np.nan]) for c in columns]
            pairs = [(r, base[r["split"]]) for r in mine if r["split"] in base]
            d = [float(a["both"]) - float(b["both"]) for a, b in pairs]
            gap = interval_over_folds(d) if d else None
            seconds = np.mean([float(r["train_seconds"]) for r in mine])
            text = " | ".join(f"{m:.2f}" for m in means)
            paired = f"{gap.mean:+.2f} ± {gap.high - gap.mean:.2f}" if gap else ""
            print(f"| {name} | {len(mine)} | {text} | {paired} | {seconds:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("target", type=Path)
    packing.add_argument(
        "--with", type=Path, action="append", default=[], dest="others", help="another folder"
    )
    packing.add_argument(
        "--uneven", type=float, default=1.0, help="photos of the largest class over those of the smallest"
    )
    packing.add_argument("--unlabelled", type=int, default=0, help="classes that never get a label")
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path, help="folder of the packed photos")
    running.add_argument(
        "tasks", nargs="+", help="photos:labels:blocks:recipes:splits, such as flowers17:8:5:judged-base:0-9"
    )
    running.add_argument("--csv", type=Path, required=True)
    running.add_argument("--extractor", default="lite0")
    running.add_argument(
        "--weights", type=Path, help="state dictionary, if the extractor's package is not there"
    )
    running.add_argument("--jobs", type=int, default=3, help="trainings side by side")
    running.add_argument("--seconds", type=float, default=1e9, help="start nothing new after so long")
    running.add_argument("--model", default="appnp", help="the GNN")
    running.add_argument(
        "--maps", type=Path, help="folder in which the maps of views are kept for later runs"
    )
    running.add_argument("--views", type=int, default=16, help="views of each kind that are computed once")
    running.add_argument(
        "--half-recipe", default="", help="another recipe for the networks that see half of the labels"
    )
    running.add_argument("--dump", type=Path, help="folder for the probabilities of each row")
    running.add_argument("--dump-features", action="store_true", help="and for the adapted features")
    running.add_argument("--steps", type=int, default=0, help="another number of steps, with the next two")
    running.add_argument("--batch", type=int, default=16)
    running.add_argument("--ratio", type=int, default=2)
    running.add_argument("--seed", type=int, default=0)
    running.add_argument(
        "--search", action="store_true", help="let cuDNN search for the fastest convolutions"
    )
    running.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    showing = commands.add_parser("summary")
    showing.add_argument("csv", type=Path)
    showing.add_argument("--against", default="base")
    options = parser.parse_args()
    if options.command == "pack":
        pack([options.folder, *options.others], options.target, options.uneven, options.unlabelled)
    elif options.command == "summary":
        summary(options.csv, options.against)
    else:
        run(options)


if __name__ == "__main__":
    main()
