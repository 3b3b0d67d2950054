"""``grande figure``: the paper's figures, from the user's features."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from grande_gnn.cli.experiment_options import data_options, gather, load_sets, make_plan, run_options
from grande_gnn.cli.options import device_option, graph_options, seed_option


@click.group("figure", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Draw a figure of the paper as PNG and SVG (needs the extra 'plot')."""


@command.command("sigma")
@data_options
@run_options
def sigma(**options: Any) -> None:
    """Accuracy against σ = 0.1 … 1.0, a panel a model, a line a feature set.

    The rows are shared with `grande table 1` in the same OUT, so that neither trains them twice.
    """
    from grande_gnn.experiments.figures import write_figure
    from grande_gnn.experiments.figures.figure_sigma import sigma_figure, sigma_trials

    plan = make_plan(options)
    evidence = gather(plan, sigma_trials(plan), load_sets(plan), options)
    _say(write_figure(sigma_figure(evidence), options["out"], "sigma"))
    sys.exit(1 if evidence.failed else 0)


@command.command("degree")
@data_options
@graph_options
@click.option("--sigma", type=float, default=0.2, show_default=True)
@click.option("--folds", type=click.IntRange(min=2), default=10, show_default=True)
@click.option("--nodes", type=int, nargs=2, help="Two samples to show instead of a typical far and near one.")
@click.option(
    "--images",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the images are.  [default: beside the features file]",
)
@device_option
@seed_option
def degree(**options: Any) -> None:
    """The worked example: a node with far and one with near neighbours, and how δ comes about.

    APPNP is trained on the first fold's labels, and distances are those of its outputs before propagation, as
    in the paper. Thumbnails are read from --images: the folder that `grande extract` was given.
    """
    from grande_gnn.experiments.datasets import find_feature_sets, load_feature_set
    from grande_gnn.experiments.figures import write_figure
    from grande_gnn.experiments.figures.figure_degree import (
        degree_figure,
        learned_distances,
        pick_examples,
        work_out,
    )
    from grande_gnn.experiments.trials import Plan

    names = ("graph", "normalize", "sigma", "folds", "seed")
    sigma = options["sigma"]
    for source in find_feature_sets(options["data"], options["datasets"], options["features"]):
        plan = Plan(
            data=(source,), n_neighbors=options["neighbors"], **{name: options[name] for name in names}
        )
        loaded = load_feature_set(source)
        graph, distances = learned_distances(loaded, plan, options["device"])
        if options["nodes"]:
            chosen = [work_out(distances, graph, sigma, node) for node in options["nodes"]]
            near, far = sorted(chosen, key=lambda example: example.s)
        else:
            far, near = pick_examples(distances, graph, sigma)
        shown = [int(node) for example in (far, near) for node in (example.node, *example.neighbours)]
        images = _find_images(loaded.files[shown].tolist(), options["images"] or source.path.parent)
        figure = degree_figure(far, near, dict(zip(shown, images, strict=True)), sigma)
        _say(write_figure(figure, options["out"], f"degree-{source.dataset}-{source.features}"))


def _find_images(names: Sequence[str], folder: Path) -> list[Path]:
    """Where the images of those names are; says so where some are not found."""
    from grande_gnn.errors import FileFormatError
    from grande_gnn.experiments.compare import image_paths

    try:
        return [Path(path) for path in image_paths(names, folder)]
    except FileFormatError as error:
        click.echo(
            f"note: grey tiles stand for images not found, give their folder with --images: {error}", err=True
        )
        return [folder / name for name in names]


def _say(paths: list[Path]) -> None:
    click.echo("\n".join(str(path) for path in paths))
