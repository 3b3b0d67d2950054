"""Plan → trials → rows: what is finished is skipped, the rest is trained and written batch by batch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from grande_gnn.engine import resolve_device
from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.folds import paper_folds
from grande_gnn.experiments.measure import Material
from grande_gnn.experiments.rows import RowStore
from grande_gnn.experiments.runners import Runner
from grande_gnn.experiments.trials import Batch, DataName, Kind, Plan, Trial, pack

__all__ = ["Forecast", "batch_size", "run"]


@dataclass
class _Ticks:
    """What is known of the batches of one kind, or of one batch that is being trained."""

    trials: float = 0.0
    seconds: float = 0.0
    setup: float | None = None
    """Seconds until the first sign of life, which fewer trials would have taken too."""

    def price(self, n_trials: int) -> float | None:
        """Seconds a trial in a batch of ``n_trials``."""
        return self.seconds / self.trials + (self.setup or 0.0) / n_trials if self.trials else None


@dataclass
class Forecast:
    """How far a run is and how long it will take.

    Every kind of trial has its own price, learned as its first trials are trained; a kind not seen yet is
    priced by its ``weight`` relative to those that were.
    """

    counts: Counter[Kind]
    """Trials of each kind."""
    weight: Mapping[Kind, float]
    start: float = field(default_factory=time.perf_counter)
    done: float = 0.0
    _closed: dict[Kind, _Ticks] = field(default_factory=dict)
    _open: dict[Batch, _Ticks] = field(default_factory=dict)

    def add(self, batch: Batch, trials: float, seconds: float) -> None:
        """Note that ``trials`` more of a batch took one worker ``seconds``."""
        self.done += trials
        ticks = self._open.setdefault(batch, _Ticks())
        if ticks.setup is None and trials < len(batch.trials):
            ticks.setup = seconds
            return
        ticks.trials += trials
        ticks.seconds += seconds
        if ticks.trials > len(batch.trials) - 1:
            del self._open[batch]
            kind = self._closed.setdefault(batch.kind, _Ticks())
            kind.trials += len(batch.trials)
            kind.seconds += ticks.seconds + (ticks.setup or 0.0)

    @property
    def total(self) -> int:
        """All trials of this run."""
        return sum(self.counts.values())

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def _prices(self) -> dict[Kind, float]:
        known = {batch.kind: ticks.price(len(batch.trials)) for batch, ticks in self._open.items()}
        known |= {kind: ticks.price(1) for kind, ticks in self._closed.items()}
        return {kind: price for kind, price in known.items() if price is not None}

    def expected(self) -> float | None:
        """Seconds the whole run will take; None before anything is known."""
        prices = self._prices()
        if not prices:
            return None
        scale = sum(prices.values()) / sum(self.weight[kind] for kind in prices)
        whole = sum(
            count * prices.get(kind, self.weight[kind] * scale) for kind, count in self.counts.items()
        )
        return whole / self._workers()

    def _workers(self) -> float:
        """How many batches are trained at a time."""
        busy = sum(t.seconds + (t.setup or 0.0) for t in (*self._closed.values(), *self._open.values()))
        return max(1.0, busy / self.elapsed)


def batch_size(trial: Trial, *, cuda: bool) -> int:
    """How many trials of this kind to train together.

    On a GPU the engine is at its best with many. On a CPU eleven (all degrees of a fold) give most of the
    gain and a kill loses little. Other systems go one by one.
    """
    return (1100 if cuda else 11) if trial.uses_engine else 1


def _weight(trial: Trial, material: Material) -> float:
    """Roughly how dear a trial is: the size of its largest matrix product, which dominates."""
    width = trial.hidden or int(material.codes.max()) + 1
    return float(material.X.size) * width


def run(
    plan: Plan,
    trials: Iterable[Trial],
    sets: Mapping[FeatureSet, LoadedSet],
    store: RowStore,
    runner: Runner,
    *,
    watch: Callable[[Forecast], object] = lambda forecast: None,
) -> None:
    """Train what the store does not have yet; a batch's rows are on disk before the next one's begin."""
    for loaded in sets.values():
        paper_folds(loaded.codes, plan.folds)  # raises before anything is trained
    store.refuse_changed({source.name: loaded.fingerprint for source, loaded in sets.items()})
    todo = [trial for trial in dict.fromkeys(trials) if trial not in store.finished]
    graphs: dict[DataName, set[str]] = {}
    for trial in todo:
        graphs.setdefault(trial.data, set()).update({trial.graph} if trial.graph else ())
    device = str(resolve_device("auto")) if runner.cuda else "cpu"  # a cluster's GPUs may be elsewhere
    materials = {
        source.name: Material.of(loaded, plan, graphs[source.name], device)
        for source, loaded in sets.items()
        if source.name in graphs
    }
    weight = {trial.kind: _weight(trial, materials[trial.data]) for trial in todo}
    forecast = Forecast(Counter(trial.kind for trial in todo), weight)

    def on_progress(batch: Batch, count: float, seconds: float) -> None:
        forecast.add(batch, count, seconds)
        watch(forecast)

    batches = pack(todo, lambda trial: batch_size(trial, cuda=runner.cuda), weight)
    for _, rows in runner.run(batches, materials, on_progress):
        store.append(rows)
