"""``grande figure``: the paper's figures, from the user's features."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from grande_gnn.cli.choices import Place
from grande_gnn.cli.experiment_options import RunOptions, data_options, run_options, run_trials
from grande_gnn.cli.options import device_option, folds_option, graph_options, seed_option


@click.group("figure", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Draw a figure of the paper as PNG and SVG (needs the extra 'plot')."""


@command.command("sigma", short_help="Accuracy against σ.")
@data_options
@run_options
def sigma(**options: Any) -> None:
    """Accuracy against σ = 0.1 … 1.0, one panel per model, one line per feature set.

    The rows are shared with `grande table 1` in the same OUT, so neither trains them twice.
    """
    from grande_gnn.experiments.figures import write_figure
    from grande_gnn.experiments.figures.figure_sigma import sigma_figure, sigma_trials

    chosen = RunOptions(**options)
    plan = chosen.plan()
    results = run_trials(chosen, plan, sigma_trials(plan), chosen.load(plan))
    _print_paths(write_figure(sigma_figure(results), chosen.out, "sigma"))
    sys.exit(1 if results.failed else 0)


@command.command("degree", short_help="The paper's worked example of the degree.")
@data_options
@graph_options
@click.option("--sigma", type=float, default=0.2, show_default=True, help="The σ of the GRaNDe degree.")
@folds_option
@click.option("--nodes", type=int, nargs=2, help="Two samples to show instead of typical ones.")
@click.option(
    "--images",
    metavar="DIR",
    type=Place(path_type=Path),
    help="Where the images are.  [default: the folder of the features file]",
)
@device_option
@seed_option
def degree(
    data: Path, out: Path, datasets: tuple[str, ...], features: tuple[str, ...], graph: str, neighbors: int,
    normalize: str, sigma: float, folds: int, nodes: tuple[int, int] | None, images: Path | None,
    device: str, seed: int,
) -> None:  # fmt: skip
    """The worked example: a node with distant and one with close neighbors, and how δ is computed.

    APPNP is trained on the first fold's labels, and distances are those of its outputs before propagation, as
    in the paper. Thumbnails are read from --images: the folder that `grande extract` was given.
    """
    from grande_gnn.experiments.datasets import find_feature_sets, load_feature_set
    from grande_gnn.experiments.figures import write_figure
    from grande_gnn.experiments.figures.figure_degree import degree_figure, examples
    from grande_gnn.experiments.trials import Plan

    for source in find_feature_sets(data, datasets, features):
        plan = Plan(
            data=(source,),
            graph=graph,
            n_neighbors=neighbors,
            normalize=normalize,
            sigma=sigma,
            folds=folds,
            seed=seed,
        )
        loaded = load_feature_set(source)
        far, near = examples(loaded, plan, device, nodes)
        shown = [int(node) for example in (far, near) for node in (example.node, *example.neighbors)]
        paths = _find_images(loaded.files[shown].tolist(), images or source.path.parent)
        figure = degree_figure(far, near, dict(zip(shown, paths, strict=True)), sigma)
        _print_paths(write_figure(figure, out, f"degree-{source.dataset}-{source.features}"))


def _find_images(names: Sequence[str], folder: Path) -> list[Path]:
    """Where the images of those names are; prints a note if some are not found."""
    from grande_gnn.errors import FileFormatError
    from grande_gnn.experiments.datasets import image_paths

    try:
        return [Path(path) for path in image_paths(names, folder)]
    except FileFormatError as error:
        click.echo(
            f"note: gray tiles replace images that were not found, give their folder with --images: {error}",
            err=True,
        )
        return [folder / name for name in names]


def _print_paths(paths: list[Path]) -> None:
    click.echo("\n".join(str(path) for path in paths))
