"""One batch of trials in, their rows out: the only place of the experiments where anything is trained.

The same function runs in this process, in another one, and on a cluster, so the rows are the same.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn import __version__
from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.engine import Replica, Settings, resolve_device, train
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import LoadedSet
from grande_gnn.experiments.folds import fold_labels, inner_parts, paper_folds
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.systems import graph_of, make_system
from grande_gnn.experiments.trials import Batch, Plan, Trial
from grande_gnn.graph import Graph

__all__ = ["Material", "Tick", "work"]

Tick = Callable[[float], object]
"""Called now and then with the number of trials trained since the last call, fractions included."""

_Result = dict[str, float | int | str]
"""The fields of a row that a training gives: accuracy and n_test, or error."""


@dataclass(frozen=True, eq=False)
class Material:
    """What the trials of one features file share; put into a cluster's memory once a node."""

    X: NDArray[np.float32]
    codes: NDArray[np.int64]
    fingerprint: str
    graphs: Mapping[str, Graph]

    @classmethod
    def of(cls, loaded: LoadedSet, plan: Plan, graphs: Iterable[str], device: str = "cpu") -> Material:
        """Normalise the features and build the graphs, on ``device`` of this machine."""
        X = Normalizer.fit(loaded.X, plan.normalize).transform(loaded.X)
        built = {name: graph_of(name, X, plan.n_neighbors, device) for name in sorted(graphs)}
        return cls(X, loaded.codes, loaded.fingerprint, built)


@dataclass(frozen=True, eq=False)
class _Split:
    """The labels a trial may see and the samples it is measured on."""

    labels: NDArray[np.int64]
    test: NDArray[np.int64]

    def check(self) -> None:
        """Raise unless there is something to learn from and something to be measured on."""
        n_train, n_test = int((self.labels >= 0).sum()), len(self.test)
        if not n_train or not n_test:
            raise InvalidInputError(
                "a trial needs labelled samples to train on and others to test on: use fewer folds, or fewer inner "
                f"folds, where classes are small; got {n_train} to train on and {n_test} to test on"
            )


def work(material: Material, batch: Batch, device: str = "auto", tick: Tick | None = None) -> list[Row]:
    """Train and measure a batch. An error becomes the row of its own trial, so that all others can go on."""
    start = time.perf_counter()
    splits = _splits(material.codes, batch.trials)
    with warnings.catch_warnings():
        # Shared memory is read-only; torch is only warned of writing, and nothing writes.
        warnings.filterwarnings("ignore", message=".*not writable")
        results = _results(material, batch.trials, splits, device, tick and _at_most(len(splits), tick))
    seconds = (time.perf_counter() - start) / len(batch.trials)
    where = _environment(device)
    return [
        Row(trial, material.fingerprint, where, seconds, **result)  # type: ignore[arg-type]
        for trial, result in zip(batch.trials, results, strict=True)
    ]


def _results(
    material: Material, trials: Sequence[Trial], splits: Sequence[_Split], device: str, tick: Tick | None
) -> list[_Result]:
    """What each trial gave; a batch that fails is halved until those that fail stand alone."""
    how = _train if trials[0].uses_engine else _transduce
    try:
        for split in splits:
            split.check()
        predictions = how(material, trials, splits, device, tick)
        return [_measure(*pair, material.codes) for pair in zip(splits, predictions, strict=True)]
    except Exception as error:
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
    # Outside of the handler: the error would keep the tensors of the failed batch alive during the next ones.
    if len(trials) == 1:
        return [{"error": message}]
    half = len(trials) // 2
    halves = (slice(half), slice(half, None))
    return [r for part in halves for r in _results(material, trials[part], splits[part], device, tick)]


def _at_most(n_trials: int, tick: Tick) -> Tick:
    """Pass on no more than ``n_trials``: what is trained again after an error does not count again."""
    left = float(n_trials)

    def count(trials: float) -> None:
        nonlocal left
        new = min(trials, left)
        left -= new
        if new > 0:
            tick(new)

    return count


def _splits(codes: NDArray[np.int64], trials: Sequence[Trial]) -> list[_Split]:
    """The paper's folds, or a part of the labelled fold for the inner trials."""
    folds = {n_folds: paper_folds(codes, n_folds) for n_folds in {trial.folds for trial in trials}}
    splits = []
    for trial in trials:
        train, test = folds[trial.folds][trial.fold]
        if trial.inner is not None and trial.inner_folds is not None:
            part = inner_parts(codes[train], trial.inner_folds)
            train, test = train[part != trial.inner], train[part == trial.inner]
        splits.append(_Split(fold_labels(codes, train), test))
    return splits


def _measure(split: _Split, predictions: NDArray[np.int64], codes: NDArray[np.int64]) -> _Result:
    hits = predictions[split.test] == codes[split.test]
    return {"accuracy": 100 * float(hits.mean()), "n_test": len(hits)}


def _train(
    material: Material, trials: Sequence[Trial], splits: Sequence[_Split], device: str, tick: Tick | None
) -> Iterable[NDArray[np.int64]]:
    first = trials[0]
    model, lr, epochs = first.model or "", first.lr or 0.0, first.epochs or 0
    settings = Settings(model=model, lr=lr, epochs=epochs, device=device, seed=first.seed)
    replicas = [
        Replica(
            labels=split.labels,
            degree="centrality" if trial.sigma is None else trial.sigma,
            repetition=trial.repetition,
            fold=trial.fold,
            hidden=trial.hidden,
        )
        for trial, split in zip(trials, splits, strict=True)
    ]
    progress = None if tick is None else lambda steps: tick(steps / epochs)
    n_classes = int(material.codes.max()) + 1
    outcomes = train(
        material.X, material.graphs[first.graph or ""], replicas, n_classes, settings, progress=progress
    )
    return [outcome.predictions for outcome in outcomes]


def _transduce(
    material: Material, trials: Sequence[Trial], splits: Sequence[_Split], device: str, tick: Tick | None
) -> Iterable[NDArray[np.int64]]:
    for trial, split in zip(trials, splits, strict=True):
        system = make_system(trial.system, device=device, random_state=trial.seed + trial.repetition)
        yield system.transduce_folds(material.X, split.labels[None])[0].codes
        if tick is not None:
            tick(1)


@cache
def _environment(device: str) -> str:
    """Versions and device, in words."""
    where = resolve_device(device)
    name = torch.cuda.get_device_name(where) if where.type == "cuda" else f"cpu {platform.machine()}"
    return (
        f"grande-gnn {__version__}, torch {torch.__version__}, numpy {np.__version__}, "
        f"python {platform.python_version()}, {name}"
    )
