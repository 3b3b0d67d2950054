"""Plan → trials → rows: what is finished is skipped, the rest is trained and stored batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.folds import paper_folds
from grande_gnn.experiments.forecast import Forecast
from grande_gnn.experiments.measure import SharedData
from grande_gnn.experiments.rows import Rows
from grande_gnn.experiments.runners import Runner
from grande_gnn.experiments.trials import Batch, DataName, Plan, Trial, pack
from grande_gnn.internal.device import resolve_device

__all__ = ["batch_size", "run"]


def batch_size(trial: Trial, *, cuda: bool) -> int:
    """How many trials of this kind to train together.

    On a GPU, the engine is fastest with many. On a CPU, eleven (all degrees of a fold) give most of the gain, and little is
    lost if the process is killed. Trials of other systems run one by one.
    """
    return (1100 if cuda else 11) if trial.uses_engine else 1


def _weight(trial: Trial, data: SharedData) -> float:
    """The relative cost of a trial: the size of its largest matrix product, which takes most of the time."""
    return float(data.X.size) * (trial.hidden or data.n_classes)


def run(
    plan: Plan,
    trials: Iterable[Trial],
    sets: Mapping[FeatureSet, LoadedSet],
    store: Rows,
    runner: Runner,
    *,
    images: str | Path | None = None,
    count_unreached: bool = False,
    size: Callable[[Trial], int] | None = None,
    watch: Callable[[Forecast], object] = lambda forecast: None,
) -> None:
    """Train the trials that the store does not have yet; the rows of each batch are stored as soon as it is finished.

    ``images`` is the folder of the images, for systems that need them; ``count_unreached`` also counts the samples
    that no label reached; ``size`` replaces :func:`batch_size`.
    """
    for loaded in sets.values():
        paper_folds(loaded.codes, plan.folds)  # raises before anything is trained
    store.refuse_changed({source.name: loaded.fingerprint for source, loaded in sets.items()})
    todo = [trial for trial in dict.fromkeys(trials) if trial not in store.finished]
    graphs: dict[DataName, set[str]] = {}
    for trial in todo:
        graphs.setdefault(trial.data, set()).update({trial.graph} if trial.graph else ())
    device = str(resolve_device("auto")) if runner.cuda else "cpu"  # a cluster's GPUs may be elsewhere
    shared = {
        source.name: SharedData.of(loaded, plan, graphs[source.name], device, images, count_unreached)
        for source, loaded in sets.items()
        if source.name in graphs
    }
    weight = {trial.kind: _weight(trial, shared[trial.data]) for trial in todo}
    forecast = Forecast(Counter(trial.kind for trial in todo), weight)

    def on_progress(batch: Batch, count: float, seconds: float) -> None:
        forecast.add(batch, count, seconds)
        watch(forecast)

    batches = pack(todo, size or (lambda trial: batch_size(trial, cuda=runner.cuda)), weight)
    for _, rows in runner.run(batches, shared, on_progress):
        store.append(rows)
