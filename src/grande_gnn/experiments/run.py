"""Plan → trials → rows: what is finished is skipped, the rest is trained and written batch by batch."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from grande_gnn.experiments.plan import Batch, Trial, pack
from grande_gnn.experiments.rows import RowStore
from grande_gnn.experiments.runners import Materials, Runner

__all__ = ["Forecast", "batch_size", "run"]


@dataclass
class Forecast:
    """How far a run is and how long it will take.

    Every kind of trial has its own price, learned as its first trials are trained; a kind not seen yet
    is taken to cost what the seen ones cost on average.
    """

    left: Counter[tuple[str, ...]]
    """Trials left of each kind."""
    start: float = field(default_factory=time.perf_counter)
    done: float = 0.0
    _trials: defaultdict[tuple[str, ...], float] = field(default_factory=lambda: defaultdict(float))
    _seconds: defaultdict[tuple[str, ...], float] = field(default_factory=lambda: defaultdict(float))

    def add(self, batch: Batch, trials: float, seconds: float) -> None:
        """Note that ``trials`` more of a batch took one worker ``seconds``."""
        self._trials[batch.kind] += trials
        self._seconds[batch.kind] += seconds
        self.done += trials

    @property
    def total(self) -> int:
        """All trials of this run."""
        return sum(self.left.values())

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def seen_all_kinds(self) -> bool:
        """Whether every kind of trial has a price."""
        return all(self._trials[kind] > 0 for kind in self.left)

    def expected(self) -> float | None:
        """Seconds the whole run will take; None before anything is known."""
        busy, trained = sum(self._seconds.values()), sum(self._trials.values())
        if not trained or not busy:
            return None
        work_left = 0.0
        for kind, count in self.left.items():
            seen = self._trials[kind]
            price = self._seconds[kind] / seen if seen else busy / trained
            work_left += max(0.0, count - seen) * price
        workers = max(1.0, busy / self.elapsed)
        return self.elapsed + work_left / workers


def batch_size(trial: Trial, *, cuda: bool) -> int:
    """How many trials of this kind to train together.

    On a GPU the engine is at its best with many. On a CPU eleven (all degrees of a fold) give most of the gain, and a kill
    loses little. Systems that share a graph between folds take all folds; others go fold by fold.
    """
    if trial.uses_engine:
        return 1100 if cuda else 11
    return trial.folds if trial.model else 1


def run(
    trials: Iterable[Trial],
    materials: Materials,
    store: RowStore,
    runner: Runner,
    *,
    cuda: bool = False,
    watch: Callable[[Forecast], object] = lambda forecast: None,
) -> None:
    """Train what the store does not have yet; each batch's rows are on disk before the next is reported."""
    store.refuse_changed({name: material.fingerprint for name, material in materials.items()})
    todo: Sequence[Trial] = [trial for trial in dict.fromkeys(trials) if trial not in store.finished]
    forecast = Forecast(Counter(trial.kind for trial in todo))

    def on_progress(batch: Batch, count: float, seconds: float) -> None:
        forecast.add(batch, count, seconds)
        watch(forecast)

    batches = pack(todo, lambda trial: batch_size(trial, cuda=cuda))
    for _, rows in runner.run(batches, materials, on_progress):
        store.append(rows)
