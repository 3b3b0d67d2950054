"""Run every system on the same features, folds and seeds, and compute its paired difference from GRaNDe.

A comparison consists of the same trials and rows as the paper's tables. With an output folder, its rows are kept in
``rows.jsonl``, so that it can be stopped and resumed. Repetition r has the seed ``seed + r``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines import SystemEntry, find_system
from grande_gnn.errors import FileFormatError
from grande_gnn.experiments.datasets import FeatureSet, LoadedSet, fingerprint, image_paths
from grande_gnn.experiments.folds import paper_folds
from grande_gnn.experiments.forecast import Forecast
from grande_gnn.experiments.measure import one_line
from grande_gnn.experiments.paper import read_table
from grande_gnn.experiments.rows import Row, Rows, RowStore
from grande_gnn.experiments.runners.local import LocalRunner
from grande_gnn.experiments.schedule import run
from grande_gnn.experiments.statistics import (
    Interval,
    collect,
    paired_interval,
    std_between_repetitions,
    without_nan,
)
from grande_gnn.experiments.trials import Plan, Trial
from grande_gnn.internal.features_file import FeaturesFile
from grande_gnn.internal.progress import counting
from grande_gnn.internal.validation import encode_labels

__all__ = ["REFERENCE", "SystemResult", "compare_systems", "image_paths", "paper_sign"]

REFERENCE = "grande"
"""The system that the others are compared with: the better of its models."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SystemResult:
    """The accuracies of one system with one of its models, or the reason why it failed."""

    system: str
    model: str | None = None
    backbone: str | None = None
    accuracies: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))  # repetitions × folds
    unreached: float = 0.0  # number of samples that no label reached, averaged over trainings
    seconds: float = 0.0
    difference: Interval | None = None
    error: str | None = None

    @property
    def accuracy_mean(self) -> float:
        """Percent, over repetitions and folds; NaN after an error."""
        return float(self.accuracies.mean()) if self.accuracies.size else float("nan")

    def as_row(self) -> dict[str, Any]:
        """A flat, JSON-ready row; ``accuracy_std`` is between folds, ``std_repetitions`` the paper's ±."""
        row: dict[str, Any] = {"system": self.system, "model": self.model, "backbone": self.backbone}
        if self.error is not None:
            nothing = {"accuracy_mean": None, "accuracy_std": None}
            return {**row, **nothing, "seconds": self.seconds, "error": self.error}
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
        return without_nan(row)


def paper_sign(system: str) -> str | None:
    """How often the paper's table 3 has the system below (−) or above (+) GRaNDe; None if it is not in the table.

    >>> paper_sign("svm"), paper_sign("dgcg"), paper_sign("logreg")
    ('-9', '-8 +1', None)
    """
    pairs = [(row.get(system), row[REFERENCE]) for row in read_table(3)]
    signs = [np.sign(float(value) - float(ours)) for value, ours in pairs if value]
    counts = {"-": signs.count(-1), "+": signs.count(1)}
    return " ".join(f"{sign}{count}" for sign, count in counts.items() if count) or None


def compare_systems(
    content: FeaturesFile,
    names: Sequence[str],
    *,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    images: str | Path | None = None,
    out: str | Path | None = None,
    path: str | Path = "",
    device: str = "auto",
    **params: Any,
) -> Iterator[SystemResult]:
    """Run the systems one after the other, the reference first; an error becomes a result.

    ``params`` (``weights``, ``epochs``, …) are passed to the systems that have them. With ``out``, the rows are kept in
    ``out/rows.jsonl``, and finished trials are not run again. ``path`` is the path of the features file, from which the rows
    get the names of their dataset and features.
    """
    entries = [find_system(name) for name in dict.fromkeys(names)]
    entries.sort(key=lambda entry: entry.name != REFERENCE)
    if content.labels is None:
        raise FileFormatError(
            "comparing needs labels: the features file has no array 'labels'; got features only"
        )
    codes, _ = encode_labels(content.labels, len(content.features))
    paper_folds(codes, folds)  # raises before anything is trained
    source = FeatureSet.at(path)
    digest = fingerprint(content.features, codes)
    loaded = LoadedSet(source, content.features, codes, content.files, digest, None, None)
    seeds = [seed + repetition for repetition in range(repeats)]
    return _Comparison(loaded, folds, seeds, images, device, params).results(entries, out)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """The data, folds, seeds and parameters that all systems share."""

    loaded: LoadedSet
    folds: int
    seeds: Sequence[int]
    images: str | Path | None
    device: str
    params: dict[str, Any]

    def results(self, entries: Sequence[SystemEntry], out: str | Path | None) -> Iterator[SystemResult]:
        """Yield each system's results as soon as they are measured."""
        store: AbstractContextManager[Rows]
        store = nullcontext(Rows()) if out is None else RowStore(Path(out) / "rows.jsonl")
        reference = None
        with store as rows:
            rows.refuse_changed({self.loaded.source.name: self.loaded.fingerprint})
            for entry in entries:
                results = self._run(entry, rows)
                done = [result for result in results if result.error is None]
                if entry.name == REFERENCE and done:
                    reference = max(done, key=lambda result: result.accuracy_mean).accuracies
                for result in results:
                    yield _with_difference(result, reference)

    def _run(self, entry: SystemEntry, rows: Rows) -> list[SystemResult]:
        """Measure a system with each of its models; an error must not stop the systems after it."""
        start = time.perf_counter()
        try:
            plan = self._plan(entry)
            trials = {model: self._trials(plan, entry, model) for model in entry.models or (None,)}
            wanted = [trial for members in trials.values() for trial in members]
            new = {trial for trial in wanted if trial not in rows.finished}
            # Folds that run together share work; if rows are kept, smaller batches lose less when the process is killed.
            size = None if isinstance(rows, RowStore) else (lambda trial: self.folds)
            sets = {self.loaded.source: self.loaded}
            run(
                plan, wanted, sets, rows, LocalRunner(self.device),
                images=self.images, count_unreached=True, size=size, watch=_bar_of(entry.name, len(new)),
            )  # fmt: skip
        except Exception as error:
            log.debug("%s failed", entry.name, exc_info=True)
            seconds = time.perf_counter() - start
            return [
                SystemResult(entry.name, model, seconds=seconds, error=one_line(error))
                for model in entry.models or (None,)
            ]
        found = {trial: rows.finished.get(trial) or rows.failed[trial] for trial in wanted}
        # The rest of the time was spent on the graph, which each of the models needs.
        shared = time.perf_counter() - start - sum(found[trial].seconds for trial in new)
        return [
            _summary(entry, model, [found[trial] for trial in members], shared if new & set(members) else 0.0)
            for model, members in trials.items()
        ]

    def _plan(self, entry: SystemEntry) -> Plan:
        """The settings of the system's trainings: its defaults, which are the paper's, or the parameters given."""
        known = {**entry.parameters, **self.params}
        if not entry.models:
            return Plan((self.loaded.source,), folds=self.folds, repeats=1)
        names = ("sigma", "graph", "n_neighbors", "epochs", "lr")
        chosen = {name: known[name] for name in names}
        return Plan((self.loaded.source,), folds=self.folds, repeats=1, widths=(known["hidden"],), **chosen)

    def _trials(self, plan: Plan, entry: SystemEntry, model: str | None) -> list[Trial]:
        options = tuple(sorted(entry.changed(self.params).items()))
        width = plan.widths[-1]
        # A system that draws no random numbers gives the same result every time, so it runs once.
        seeds = self.seeds if entry.is_random else self.seeds[:1]
        plans = [replace(plan, seed=seed) for seed in seeds]
        return [
            trial
            for each in plans
            for trial in each.system_trials(
                self.loaded.source, entry.name, model=model, width=width, options=options
            )
        ]


def _bar_of(system: str, total: int) -> Callable[[Forecast], object]:
    """Report the trainings of a system that are finished."""
    advance, seen = counting(system, total), 0

    def watch(forecast: Forecast) -> None:
        nonlocal seen
        advance(int(forecast.done) - seen)
        seen = int(forecast.done)

    return watch


def _summary(entry: SystemEntry, model: str | None, rows: Sequence[Row], shared: float) -> SystemResult:
    """Summarize rows as a result; an error of any trial becomes the result of the system."""
    seconds = shared + sum(row.seconds for row in rows)
    error = next((row.error for row in rows if row.error is not None), None)
    scores = collect({row.trial: row for row in rows}, [row.trial for row in rows])
    if error is not None or scores is None:
        return SystemResult(entry.name, model, seconds=seconds, error=error)
    unreached = float(np.mean([row.unreached or 0 for row in rows]))
    return SystemResult(
        entry.name, model, entry.parameters.get("backbone"), scores.values, unreached, seconds
    )


def _with_difference(result: SystemResult, reference: NDArray[np.float64] | None) -> SystemResult:
    if result.error is not None or reference is None or result.accuracies is reference:
        return result
    return replace(result, difference=paired_interval(result.accuracies.mean(0), reference.mean(0)))
