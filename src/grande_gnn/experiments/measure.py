"""Train a batch of trials and return their rows: the only place in the experiments where anything is trained.

    trial → the labels of its fold → training → percent of the test samples that are correct

The same function runs in this process, in another one, and on a cluster, so the rows are the same.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn import __version__
from grande_gnn.baselines import find_system
from grande_gnn.baselines.base import Transduction
from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.engine import Settings
from grande_gnn.errors import GrandeError, InvalidInputError
from grande_gnn.experiments.datasets import LoadedSet, image_paths
from grande_gnn.experiments.folds import fold_labels, inner_parts, paper_folds
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.trials import Batch, Plan, Trial
from grande_gnn.graph import Graph, Neighbors, build_graph, list_length
from grande_gnn.internal.device import resolve_device

__all__ = ["Score", "SharedData", "Step", "measure", "one_line", "score"]

Step = Callable[[float], object]
"""Called from time to time with the number of trials trained since the last call, which may be a fraction."""


@dataclass(frozen=True, eq=False)
class SharedData:
    """The data that the trials of one features file share; on a cluster it is copied once per node."""

    X: NDArray[np.float32]
    codes: NDArray[np.int64]
    fingerprint: str
    graphs: Mapping[str, Graph]
    files: Sequence[str] | NDArray[np.str_] = ()
    images: str | Path | None = None
    """The folder of ``files``, for systems that work on images."""
    count_unreached: bool = False
    """Whether to count the samples that no label reached."""

    @classmethod
    def of(
        cls,
        loaded: LoadedSet,
        plan: Plan,
        graphs: Iterable[str],
        device: str = "cpu",
        images: str | Path | None = None,
        count_unreached: bool = False,
    ) -> SharedData:
        """Normalize the features and build the graphs, on ``device`` of this machine."""
        X = Normalizer.fit(loaded.X, plan.normalize).transform(loaded.X)
        neighbors = Neighbors(X, backend="exact", device=device)
        # The longest lists come first: shorter lists are their beginnings, so neighbors are searched once for all graphs.
        names = sorted(graphs, key=lambda name: -list_length(name, plan.n_neighbors))
        built = {name: build_graph(name, neighbors, plan.n_neighbors) for name in names}
        return cls(X, loaded.codes, loaded.fingerprint, built, loaded.files, images, count_unreached)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.codes.max()) + 1


class Score(NamedTuple):
    """The values of a row that are measured by a training."""

    accuracy: float
    n_test: int
    unreached: int | None


@dataclass(frozen=True, eq=False)
class _Split:
    """The labels that a trial may use, and the samples that it is measured on."""

    labels: NDArray[np.int64]
    test: NDArray[np.int64]

    def check(self) -> None:
        """Raise an error unless there are samples to train on and samples to test on."""
        n_train, n_test = int((self.labels >= 0).sum()), len(self.test)
        if not n_train or not n_test:
            raise InvalidInputError(
                "a trial needs labelled samples to train on and others to test on: use fewer folds, or fewer inner "
                f"folds, where classes are small; got {n_train} to train on and {n_test} to test on"
            )


def measure(data: SharedData, batch: Batch, device: str = "auto", step: Step | None = None) -> list[Row]:
    """Train and measure a batch. An error becomes the row of the trial that raised it, and the others continue."""
    start = time.perf_counter()
    results = _score_or_error(data, batch.trials, device, step and _at_most(len(batch.trials), step))
    seconds = (time.perf_counter() - start) / len(batch.trials)
    where = _environment(device)
    rows = []
    for trial, result in zip(batch.trials, results, strict=True):
        content = {"error": result} if isinstance(result, str) else result._asdict()
        rows.append(Row(trial, data.fingerprint, where, seconds, **content))
    return rows


def score(
    data: SharedData, trials: Sequence[Trial], device: str = "auto", step: Step | None = None
) -> list[Score]:
    """Train the trials, which share their features, and measure each on its test samples."""
    splits = dict(zip(trials, _splits(data.codes, trials), strict=True))
    for split in splits.values():
        split.check()
    answers: dict[Trial, Transduction] = {}
    with warnings.catch_warnings():
        # Shared memory is read-only; torch warns about that, but nothing writes to it.
        warnings.filterwarnings("ignore", message=".*not writable")
        for together in dict.fromkeys(trial.trained_with for trial in trials):
            members = {t: split.labels for t, split in splits.items() if t.trained_with == together}
            answer = _train if next(iter(members)).uses_engine else _transduce
            answers |= answer(data, members, device, step)
    return [_measured(data, splits[trial], answers[trial]) for trial in trials]


def _score_or_error(
    data: SharedData, trials: Sequence[Trial], device: str, step: Step | None
) -> list[Score | str]:
    """The score or the error of each trial; a batch that fails is halved until the trials that fail are isolated."""
    try:
        return list(score(data, trials, device, step))
    except Exception as error:
        message = one_line(error)
    # Outside of the handler, because the error would keep the tensors of the failed batch alive during the next ones.
    if len(trials) == 1:
        return [message]
    half = len(trials) // 2
    halves = (trials[:half], trials[half:])
    return [result for part in halves for result in _score_or_error(data, part, device, step)]


def one_line(error: Exception) -> str:
    """The error on one line; our own errors are sentences, others need their type to be understood."""
    words = " ".join(str(error).split())
    return words if isinstance(error, GrandeError) and words else f"{type(error).__name__}: {words}"


def _at_most(n_trials: int, step: Step) -> Step:
    """Report at most ``n_trials`` in total: trials that are trained again after an error are not counted again."""
    left = float(n_trials)

    def count(trials: float) -> None:
        nonlocal left
        new = min(trials, left)
        left -= new
        if new > 0:
            step(new)

    return count


def _splits(codes: NDArray[np.int64], trials: Sequence[Trial]) -> Iterator[_Split]:
    """The paper's folds, or a part of the labelled fold for the inner trials."""
    folds = {n_folds: paper_folds(codes, n_folds) for n_folds in {trial.folds for trial in trials}}
    for trial in trials:
        train, test = folds[trial.folds][trial.fold]
        if trial.inner is not None and trial.inner_folds is not None:
            part = inner_parts(codes[train], trial.inner_folds)
            train, test = train[part != trial.inner], train[part == trial.inner]
        yield _Split(fold_labels(codes, train), test)


def _measured(data: SharedData, split: _Split, answer: Transduction) -> Score:
    hits = answer.codes[split.test] == data.codes[split.test]
    unreached = int((~answer.reached).sum()) if data.count_unreached else None
    return Score(100 * float(hits.mean()), len(hits), unreached)


def _train(
    data: SharedData, labels: Mapping[Trial, NDArray[np.int64]], device: str, step: Step | None
) -> dict[Trial, Transduction]:
    """Train a graph, a degree and a network on the labels of each of the trials, all at once."""
    first = next(iter(labels))
    graph, epochs = data.graphs[first.graph or ""], first.epochs or 0
    settings = Settings(
        model=first.model,
        lr=first.lr or 0.0,
        epochs=epochs,
        device=device,
        seed=first.seed,
        **dict(first.options),
    )
    problem = LearningProblem(data.X, graph, data.n_classes, first.degree_object, settings, first.hidden)
    label_sets = [LabelSet(known, t.fold, t.repetition, t.degree_object) for t, known in labels.items()]
    progress = None if step is None else lambda steps: step(steps / epochs)
    outcomes = problem.train(label_sets, progress=progress)
    every = np.ones(len(data.X), dtype=bool)
    return {
        trial: Transduction(
            outcome.predictions, graph.reached_from(known >= 0) if data.count_unreached else every
        )
        for (trial, known), outcome in zip(labels.items(), outcomes, strict=True)
    }


def _transduce(
    data: SharedData, labels: Mapping[Trial, NDArray[np.int64]], device: str, step: Step | None
) -> dict[Trial, Transduction]:
    """Run another system on the labels of each of the trials."""
    first = next(iter(labels))
    entry = find_system(first.system)
    seed = first.seed + first.repetition
    system = entry.make_known(**dict(first.options), device=device, random_state=seed)
    samples = image_paths(data.files, data.images) if entry.needs_images else data.X
    answers = system.transduce_folds(samples, np.stack(list(labels.values())))
    if step is not None:
        step(len(labels))
    return dict(zip(labels, answers, strict=True))


@cache
def _environment(device: str) -> str:
    """Versions and device, as text."""
    where = resolve_device(device)
    name = torch.cuda.get_device_name(where) if where.type == "cuda" else f"cpu {platform.machine()}"
    return (
        f"grande-gnn {__version__}, torch {torch.__version__}, numpy {np.__version__}, "
        f"python {platform.python_version()}, {name}"
    )
