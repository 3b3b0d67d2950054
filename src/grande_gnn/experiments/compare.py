"""Every system on the same features, folds and seeds, each with its paired difference from GRaNDe."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines import SystemEntry, find_system
from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.experiments.paper import read_table
from grande_gnn.experiments.statistics import Interval, paired_interval, std_between_repetitions
from grande_gnn.internal.features_file import FeaturesFile
from grande_gnn.internal.validation import encode_labels

__all__ = ["REFERENCE", "SystemResult", "compare_systems", "image_paths", "paper_sign"]

REFERENCE = "grande"
"""The system the others are measured against: the better of its models."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SystemResult:
    """What one system, with one model where it has several, reached; or why it could not."""

    system: str
    model: str | None = None
    backbone: str | None = None
    accuracies: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))  # repetitions × folds
    unreached: float = 0.0  # samples no label reached, a mean over trainings
    seconds: float = 0.0
    difference: Interval | None = None
    error: str | None = None

    @property
    def accuracy_mean(self) -> float:
        """Per cent, over repetitions and folds; NaN after an error."""
        return float(self.accuracies.mean()) if self.accuracies.size else float("nan")

    def as_row(self) -> dict[str, Any]:
        """A flat, JSON-ready row; ``accuracy_std`` is between folds, ``std_repetitions`` the paper's ±."""
        row: dict[str, Any] = {"system": self.system, "model": self.model, "backbone": self.backbone}
        if self.error is not None:
            return {
                **row,
                "accuracy_mean": None,
                "accuracy_std": None,
                "seconds": self.seconds,
                "error": self.error,
            }
        low, high = self.difference[1:] if self.difference else (None, None)
        row |= {
            "accuracy_mean": self.accuracy_mean,
            "accuracy_std": float(self.accuracies.mean(axis=0).std(ddof=1)),
            "std_repetitions": std_between_repetitions(self.accuracies),
            "folds": self.accuracies.shape[1], "repeats": self.accuracies.shape[0],
            "seconds": self.seconds, "unreached": self.unreached,
            "difference": self.difference.mean if self.difference else None,
            "difference_low": low, "difference_high": high, "paper_sign": paper_sign(self.system),
        }  # fmt: skip
        return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()}


def paper_sign(system: str) -> str | None:
    """How often the paper's table 3 has the system below (−) or above (+) GRaNDe; None if it has it not.

    >>> paper_sign("svm"), paper_sign("dgcg"), paper_sign("logreg")
    ('-9', '-8 +1', None)
    """
    pairs = [(row.get(system), row[REFERENCE]) for row in read_table(3)]
    signs = [np.sign(float(value) - float(ours)) for value, ours in pairs if value]
    counts = {"-": signs.count(-1), "+": signs.count(1)}
    return " ".join(f"{sign}{count}" for sign, count in counts.items() if count) or None


def image_paths(files: Sequence[str], folder: str | Path | None) -> list[str]:
    """Where the images of a features file are: its ``files`` under ``folder``, or their bare names there."""
    if folder is None:
        raise InvalidInputError(
            "this system works on images, not on features: give their folder with --images; got none"
        )
    for shorten in (lambda name: name, lambda name: Path(name).name):
        paths = [Path(folder) / shorten(name) for name in files]
        if paths and paths[0].is_file():
            missing = next((path for path in paths if not path.is_file()), None)
            if missing is None:
                return [str(path) for path in paths]
            raise FileFormatError(f"an image named in the features file is not in its folder; got {missing}")
    raise FileFormatError(f"{folder} must hold the images the features file names; got no {files[0]} in it")


def compare_systems(
    content: FeaturesFile,
    names: Sequence[str],
    *,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    images: str | Path | None = None,
    **params: Any,
) -> Iterator[SystemResult]:
    """Run the systems one after the other; the reference goes first, an error becomes a result.

    ``params`` (``device``, ``weights``) go to the systems that know them.
    """
    entries = [find_system(name) for name in dict.fromkeys(names)]
    entries.sort(key=lambda entry: entry.name != REFERENCE)
    if content.labels is None:
        raise FileFormatError(
            "comparing needs labels: the features file has no array 'labels'; got features only"
        )
    codes, _ = encode_labels(content.labels, len(content.features))
    return _results(entries, _Task(content, codes, folds, repeats, seed, images, params))


def _results(entries: Sequence[SystemEntry], task: _Task) -> Iterator[SystemResult]:
    reference = None
    for entry in entries:
        results = [task.run(entry, model) for model in entry.models or (None,)]
        done = [result for result in results if result.error is None]
        if entry.name == REFERENCE and done:
            reference = max(done, key=lambda result: result.accuracy_mean).accuracies
        for result in results:
            yield _with_difference(result, reference)


def _with_difference(result: SystemResult, reference: NDArray[np.float64] | None) -> SystemResult:
    if result.error is not None or reference is None or result.accuracies is reference:
        return result
    return replace(result, difference=paired_interval(result.accuracies.mean(0), reference.mean(0)))


class _Task:
    """The data, folds and seeds that every system gets."""

    def __init__(
        self,
        content: FeaturesFile,
        codes: NDArray[np.int64],
        folds: int,
        repeats: int,
        seed: int,
        images: str | Path | None,
        params: dict[str, Any],
    ) -> None:
        self.content, self.codes, self.images, self.params = content, codes, images, params
        splits = paper_folds(codes, folds)
        self.tests = [test for _, test in splits]
        self.labels = np.stack([fold_labels(codes, train) for train, _ in splits])
        self.seeds = [seed + repetition for repetition in range(repeats)]

    def run(self, entry: SystemEntry, model: str | None) -> SystemResult:
        start = time.perf_counter()
        try:
            return self._measure(entry, model, start)
        except Exception as error:  # one failing system must not cost the others
            log.debug("%s failed", entry.name, exc_info=True)
            message = " ".join(str(error).split()) or type(error).__name__
            return SystemResult(entry.name, model, seconds=time.perf_counter() - start, error=message)

    def _measure(self, entry: SystemEntry, model: str | None, start: float) -> SystemResult:
        X: Any = self.content.features
        if entry.needs_images:
            X = image_paths(self.content.files.tolist(), self.images)
        known = entry.make().get_params()
        params = {key: value for key, value in {**self.params, "model": model}.items() if key in known}
        # A system without chance answers alike every time: once is enough.
        seeds = self.seeds if "random_state" in known else self.seeds[:1]
        runs = [entry.make(**params, random_state=seed).transduce_folds(X, self.labels) for seed in seeds]
        accuracies = [
            [
                100 * np.mean(fold.codes[test] == self.codes[test])
                for fold, test in zip(run, self.tests, strict=True)
            ]
            for run in runs
        ]
        unreached = np.mean([(~fold.reached).sum() for run in runs for fold in run])
        backbone = known.get("backbone")
        return SystemResult(
            entry.name, model, backbone, np.array(accuracies), float(unreached), time.perf_counter() - start
        )
