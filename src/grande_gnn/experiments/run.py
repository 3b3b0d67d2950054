"""Plan → trials → rows: what is finished is skipped, the rest is trained and written batch by batch."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.plan import Batch, DataName, Kind, Plan, Trial, pack
from grande_gnn.experiments.protocol import paper_folds
from grande_gnn.experiments.rows import RowStore
from grande_gnn.experiments.runners import Runner
from grande_gnn.experiments.work import Material

__all__ = ["Forecast", "batch_size", "run"]


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
    _trials: defaultdict[Kind, float] = field(default_factory=lambda: defaultdict(float))
    _seconds: defaultdict[Kind, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, batch: Batch, trials: float, seconds: float) -> None:
        """Note that ``trials`` more of a batch took one worker ``seconds``."""
        self._trials[batch.kind] += trials
        self._seconds[batch.kind] += seconds
        self.done += trials

    @property
    def total(self) -> int:
        """All trials of this run."""
        return sum(self.counts.values())

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def expected(self) -> float | None:
        """Seconds the whole run will take; None before anything is known."""
        busy = sum(self._seconds.values())
        weighed = sum(trials * self.weight[kind] for kind, trials in self._trials.items())
        if not busy or not weighed:
            return None
        work_left = 0.0
        for kind, count in self.counts.items():
            seen = self._trials.get(kind, 0.0)
            price = self._seconds[kind] / seen if seen else self.weight[kind] * busy / weighed
            work_left += max(0.0, count - seen) * price
        workers = max(1.0, busy / self.elapsed)
        return self.elapsed + work_left / workers


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
    materials = {
        source.name: Material.of(loaded, plan, graphs[source.name])
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
