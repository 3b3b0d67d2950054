"""What ``grande table`` and ``grande figure`` share: their options, the run itself, and what is said of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grande_gnn.cli.options import chain, device_option, graph_options, seed_option

if TYPE_CHECKING:
    from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
    from grande_gnn.experiments.schedule import Forecast
    from grande_gnn.experiments.tables import Evidence
    from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["data_options", "gather", "load_sets", "make_plan", "run_options"]

ANNOUNCE_AFTER = 60.0
"""Seconds after which the expected time of a run is said."""

data_options = chain(
    click.option(
        "--data",
        type=click.Path(path_type=Path),
        required=True,
        help="Folder with <dataset>/features_<name>.npz files.",
    ),
    click.option(
        "-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder of the results."
    ),
    click.option("--datasets", multiple=True, metavar="NAME", help="Only these; repeat for several."),
    click.option("--features", multiple=True, metavar="NAME", help="Only these; repeat for several."),
)
"""Which features to use and where results go."""

run_options = chain(
    click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True),
    click.option("--folds", type=click.IntRange(min=2), default=10, show_default=True),
    click.option("--models", multiple=True, type=click.Choice(["appnp", "sgc"]), default=("appnp", "sgc")),
    click.option("--sigma", type=float, default=0.2, show_default=True, help="The σ that is fixed."),
    graph_options,
    click.option("--lr", type=float, help="Learning rate; without it the paper's (0.001, CUB200 0.01)."),
    click.option("--epochs", type=click.IntRange(min=1), default=200, show_default=True),
    click.option(
        "--beside",
        multiple=True,
        metavar="NAME=COLUMN",
        help="Set features beside a column of the paper (ResNet, SENet, DPNet, ViT-B16) they are not from.",
    ),
    device_option,
    seed_option,
    click.option("--runner", type=click.Choice(["local", "ray"]), default="local", show_default=True),
    click.option("--address", help="The Ray cluster's; without it one is started on this machine."),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Processes of the local runner; one uses all cores.",
    ),
)
"""What is trained, how, and where."""


def make_plan(options: dict[str, Any], **changes: Any) -> Plan:
    """The plan of a command's options."""
    from grande_gnn.experiments.datasets import find_feature_sets
    from grande_gnn.experiments.trials import Plan

    names = ("models", "sigma", "graph", "normalize", "folds", "repeats", "seed", "epochs", "lr")
    data = find_feature_sets(options["data"], options["datasets"], options["features"])
    chosen = {name: options[name] for name in names}
    return Plan(data=tuple(data), n_neighbors=options["neighbors"], **(chosen | changes))


def load_sets(plan: Plan) -> dict[FeatureSet, LoadedSet]:
    """The features of a plan; says what a reader of the results must know about them."""
    from grande_gnn.experiments.datasets import load_feature_set

    sets = {source: load_feature_set(source) for source in plan.data}
    for loaded in sets.values():
        if loaded.note:
            click.echo(f"note: {loaded.note}", err=True)
    return sets


def gather(
    plan: Plan, trials: Iterable[Trial], sets: dict[FeatureSet, LoadedSet], options: dict[str, Any]
) -> Evidence:
    """Run what is not finished yet and return everything a table or figure is made from."""
    from grande_gnn.experiments.rows import RowStore
    from grande_gnn.experiments.schedule import run
    from grande_gnn.experiments.tables import Evidence

    beside = _beside(options["beside"])
    wanted = list(dict.fromkeys(trials))
    with RowStore(options["out"] / "rows.jsonl") as store:
        known = sum(trial in store.finished for trial in wanted)
        click.echo(f"{len(wanted):,} trials, {known:,} of them finished before", err=True)
        with _watching(len(wanted), known) as watch:
            run(plan, wanted, sets, store, _runner(options), watch=watch)
        failed = {trial: store.failed[trial] for trial in wanted if trial in store.failed}
        if failed:
            click.echo(f"{len(failed):,} trials failed; their errors are in {store.path}", err=True)
        return Evidence(plan, sets, store.finished, failed, beside)


def _beside(pairs: Iterable[str]) -> dict[str, str]:
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


def _runner(options: dict[str, Any]) -> Any:
    if options["runner"] == "ray":
        from grande_gnn.experiments.runners.ray_tasks import RayRunner

        return RayRunner(options["address"], "cuda" if options["device"] == "cuda" else "cpu")
    from grande_gnn.experiments.runners.local import LocalRunner

    return LocalRunner(options["device"], options["jobs"])


@contextmanager
def _watching(total: int, known: int) -> Iterator[Callable[[Forecast], None]]:
    """A bar over all trials on a terminal; after a minute the expected time, at the end what it was."""
    from tqdm import tqdm

    start, announced = time.perf_counter(), None
    bar = tqdm(total=total, initial=known, unit="trial", file=sys.stderr, disable=not sys.stderr.isatty())

    def watch(forecast: Forecast) -> None:
        nonlocal announced
        bar.update(known + int(forecast.done) - bar.n)
        if announced is None and forecast.elapsed >= ANNOUNCE_AFTER:
            announced = forecast.expected()
            if announced is not None:
                bar.write(f"expected time in all: {_words(announced)}", file=sys.stderr)

    with bar:
        yield watch
    took = f"took {_words(time.perf_counter() - start)}"
    click.echo(took + (f"; announced after a minute: {_words(announced)}" if announced else ""), err=True)


def _words(seconds: float) -> str:
    """A duration for people.

    >>> _words(42), _words(150), _words(8000)
    ('42 s', '2.5 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
