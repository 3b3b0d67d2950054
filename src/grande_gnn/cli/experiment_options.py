"""What ``grande table`` and ``grande figure`` share: their options, and what is printed during a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grande_gnn.cli.bars import StageBars
from grande_gnn.cli.choices import ChoiceOf, Place
from grande_gnn.cli.options import chain, device_option, folds_option, graph_options, is_quiet, seed_option
from grande_gnn.engine.models import MODELS
from grande_gnn.internal.progress import reporting_to

if TYPE_CHECKING:
    from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
    from grande_gnn.experiments.forecast import Forecast
    from grande_gnn.experiments.tables import Results
    from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["RunOptions", "data_options", "run_options", "run_trials"]

ANNOUNCE_AFTER = 60.0
"""Seconds after which the expected time of a run is printed."""

data_options = chain(
    click.option(
        "--data",
        type=Place(path_type=Path),
        required=True,
        help="Folder with <dataset>/features_<name>.npz files.",
    ),
    click.option("-o", "--out", type=Place(path_type=Path), required=True, help="Folder of the results."),
    click.option("--datasets", multiple=True, metavar="NAME", help="Only this dataset; repeat for several."),
    click.option(
        "--features", multiple=True, metavar="NAME", help="Only these features; repeat for several."
    ),
)
"""Which features to use and where the results are written."""

DIFFUSION_MODELS = [name for name, model in MODELS.items() if model.is_diffusion]
"""What the paper's tables are about: APPNP and SGC."""

run_options = chain(
    click.option(
        "--repeats", type=click.IntRange(min=1), default=5, show_default=True,
        help="How often each fold is trained, with other random numbers.",
    ),
    folds_option,
    click.option(
        "--models", multiple=True, type=ChoiceOf(lambda: MODELS), default=DIFFUSION_MODELS, show_default=True,
        help="The networks to train; repeat for several.",
    ),
    click.option(
        "--sigma", type=float, default=0.2, show_default=True, help="The fixed σ of the GRaNDe degree."
    ),
    graph_options,
    click.option("--lr", type=float, help="Learning rate [default: the paper's, 0.001 or for CUB200 0.01]."),
    click.option(
        "--epochs", type=click.IntRange(min=1), default=200, show_default=True, help="Epochs of each training."
    ),
    click.option(
        "--beside",
        multiple=True,
        metavar="NAME=COLUMN",
        help="Compare features with a column of the paper (ResNet, SENet, DPNet, ViT-B16) that is not theirs.",
    ),
    device_option,
    seed_option,
    click.option(
        "--runner", type=click.Choice(["local", "ray"]), default="local", show_default=True,
        help="This machine, or a Ray cluster.",
    ),
    click.option("--address", help="Address of the Ray cluster [default: one is started on this machine]."),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Processes of the local runner; one process uses all cores.",
    ),
)  # fmt: skip
"""What is trained, how, and where."""


@dataclass(frozen=True)
class RunOptions:
    """The values of :data:`data_options` and :data:`run_options`."""

    data: Path
    out: Path
    datasets: tuple[str, ...]
    features: tuple[str, ...]
    repeats: int
    folds: int
    models: tuple[str, ...]
    sigma: float
    graph: str
    neighbors: int
    normalize: str
    lr: float | None
    epochs: int
    beside: tuple[str, ...]
    device: str
    seed: int
    runner: str
    address: str | None
    jobs: int

    def plan(self, **changes: Any) -> Plan:
        """The plan that these options describe; ``changes`` are what one table has of its own."""
        from grande_gnn.experiments.datasets import find_feature_sets
        from grande_gnn.experiments.trials import Plan

        return Plan(
            data=tuple(find_feature_sets(self.data, self.datasets, self.features)),
            models=self.models, sigma=self.sigma, graph=self.graph, n_neighbors=self.neighbors,
            normalize=self.normalize, folds=self.folds, repeats=self.repeats, seed=self.seed,
            epochs=self.epochs, lr=self.lr, **changes,
        )  # fmt: skip

    def load(self, plan: Plan) -> dict[FeatureSet, LoadedSet]:
        """The features of a plan; prints what a reader of the results must know about them."""
        from grande_gnn.experiments.datasets import load_feature_set

        sets = {source: load_feature_set(source) for source in plan.data}
        for loaded in sets.values():
            if loaded.note:
                click.echo(f"note: {loaded.note}", err=True)
        return sets


def run_trials(
    options: RunOptions, plan: Plan, trials: Iterable[Trial], sets: dict[FeatureSet, LoadedSet]
) -> Results:
    """Run what is not finished yet, with a progress bar, and return the results that a table or figure is made from."""
    from grande_gnn.experiments.runners import make_runner
    from grande_gnn.experiments.tables import gather

    compared_with = _paper_columns(options.beside)
    runner = make_runner(options.runner, device=options.device, jobs=options.jobs, address=options.address)
    with StageBars() as bars, reporting_to(bars):
        results = gather(
            plan, trials, sets, options.out, runner, compared_with=compared_with, watching=_watching
        )
    if results.failed:
        rows = options.out / "rows.jsonl"
        click.echo(f"{len(results.failed):,} trials failed; their errors are in {rows}", err=True)
    return results


def _paper_columns(pairs: Iterable[str]) -> dict[str, str]:
    from grande_gnn.errors import InvalidInputError
    from grande_gnn.experiments.paper import FEATURES

    found = {}
    for pair in pairs:
        name, _, column = pair.partition("=")
        if column not in FEATURES:
            raise InvalidInputError(
                f"--beside takes NAME=COLUMN with one of the paper's columns {', '.join(FEATURES)}; got {pair!r}"
            )
        found[name] = column
    return found


@contextmanager
def _watching(total: int, known: int) -> Iterator[Callable[[Forecast], None]]:
    """A bar over all trials on a terminal; the expected time after a minute, and the time taken at the end."""
    from tqdm import tqdm

    click.echo(f"{total:,} trials, {known:,} of them finished before", err=True)
    start, announced = time.perf_counter(), None
    hidden = is_quiet() or not sys.stderr.isatty()
    bar = tqdm(total=total, initial=known, desc="Trials", unit="trial", file=sys.stderr, disable=hidden)

    def watch(forecast: Forecast) -> None:
        nonlocal announced
        bar.update(known + int(forecast.done) - bar.n)
        if announced is None and forecast.elapsed >= ANNOUNCE_AFTER:
            announced = forecast.expected()
            if announced is not None:
                bar.write(f"expected time in all: {duration(announced)}", file=sys.stderr)

    with bar:
        yield watch
    took = f"took {duration(time.perf_counter() - start)}"
    click.echo(took + (f"; announced after a minute: {duration(announced)}" if announced else ""), err=True)


def duration(seconds: float) -> str:
    """A duration for people.

    >>> duration(42), duration(150), duration(8000)
    ('42 s', '2.5 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
