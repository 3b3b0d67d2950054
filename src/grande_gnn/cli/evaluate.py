"""``grande evaluate``: the paper's protocol on a features file."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import click

from grande_gnn.cli.bars import StageBars
from grande_gnn.cli.choices import ChoiceOf, Place
from grande_gnn.cli.options import (
    device_option,
    folds_option,
    graph_file_options,
    graph_from_files,
    graph_options,
    model_options,
    seed_option,
)
from grande_gnn.engine.degrees import DEGREES, as_degree
from grande_gnn.engine.models import as_model
from grande_gnn.internal.progress import counting, reporting_to

_DEFAULT = click.core.ParameterSource.DEFAULT


@click.command("evaluate")
@click.argument("file", metavar="FILE.npz", type=Place())
@model_options
@click.option(
    "--degree", type=ChoiceOf(lambda: DEGREES), default="grande", show_default=True,
    help="How the degree of a sample is computed.",
)  # fmt: skip
@click.option(
    "--sigma",
    type=float,
    multiple=True,
    default=(0.2,),
    show_default=True,
    help="The σ of the GRaNDe degree; repeat for several.",
)
@folds_option
@click.option(
    "--repeats", type=click.IntRange(min=1), default=5, show_default=True,
    help="How often each fold is trained, with other random numbers.",
)  # fmt: skip
@graph_options
@graph_file_options
@device_option
@seed_option
@click.option(
    "--split",
    type=click.Choice(["public"]),
    help="FILE.npz is a graph with a split of its own: train on it with --repeats seeds and the published settings.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line, one for each sigma.")
def command(
    file: str, model: str, hidden: int, lr: float, degree: str, sigma: tuple[float, ...], folds: int,
    repeats: int, graph: str, neighbors: int, normalize: str, graph_file: str | None, lists_file: str | None,
    ignore_weights: bool, device: str, seed: int, split: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Measure accuracy on FILE.npz: each fold in turn is labelled, and the labels of the others are predicted.

    FILE.npz holds 'features' (samples x features) and 'labels'. Accuracies are percentages: the mean over
    repetitions ± the standard deviation between them, and the 95 % interval over folds.

    With --split, FILE.npz holds a citation graph: sparse features, 'labels', 'edges' and 'split'.
    """
    if split is not None:
        _check_split_options()
        _evaluate_split(file, model, degree, sigma, repeats, device, seed, as_json)
        return
    from grande_gnn.errors import FileFormatError
    from grande_gnn.experiments import evaluate
    from grande_gnn.internal.features_file import load_features

    content = load_features(file)
    if _has_split(file):
        click.echo(
            f"note: {file} has edges and a split of its own, which --split public would use.", err=True
        )
    if content.labels is None:
        raise FileFormatError(f"{file} has no array 'labels', which evaluation needs; got features only")
    source = graph_from_files(
        content.features, graph, neighbors, graph_file, lists_file, names=content.files.tolist(),
        ignore_weights=ignore_weights,
    )  # fmt: skip
    n_degrees = 1 if as_degree(degree).sigma is None else len(sigma)
    total = 200 * n_degrees * folds * repeats
    with StageBars() as bars, reporting_to(bars):
        results = evaluate(
            content.features, content.labels, model=model, degree=degree, sigma=sigma, folds=folds,
            repeats=repeats, graph=source, n_neighbors=neighbors, normalize=normalize, hidden=hidden or None,
            lr=lr, device=device, random_state=seed, progress=counting("train", total),
        )  # fmt: skip
    for result in results:
        row = result.as_row()
        click.echo(json.dumps(row) if as_json else _sentence(row))


def _check_split_options() -> None:
    """Refuse options that a graph with a split of its own has no use for."""
    context = click.get_current_context()
    for name in ("folds", "graph", "neighbors", "normalize", "graph_file", "lists_file", "ignore_weights"):
        if context.get_parameter_source(name) != _DEFAULT:
            raise click.UsageError(
                f"--split trains on the edges and the split of the file: leave out --{name.replace('_', '-')}; got both"
            )


def _has_split(file: str) -> bool:
    if not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return {"edges.npy", "split.npy"} <= set(archive.namelist())


def _evaluate_split(
    file: str, model: str, degree: str, sigma: tuple[float, ...], seeds: int, device: str, seed: int, as_json: bool
) -> None:  # fmt: skip
    """One row: the accuracy on the test nodes of a graph with a split; of several σ, the best on the validation nodes."""
    from grande_gnn.experiments.split_graphs import evaluate_split, load_split_graph
    from grande_gnn.experiments.statistics import without_nan

    context = click.get_current_context()
    own = ("hidden", "lr")  # otherwise the published ones
    given = {name: context.params[name] for name in own if context.get_parameter_source(name) != _DEFAULT}
    data = load_split_graph(file)
    if data.note:
        click.echo(f"note: {data.note}", err=True)
    with StageBars() as bars, reporting_to(bars):
        scores = evaluate_split(
            data, model, degree, sigma, seeds=seeds, random_state=seed, device=device, **given
        )
    mean, low, high = scores.interval
    published = data.published(scores.model)
    row = without_nan({
        "graph": data.name, "model": scores.model, "degree": scores.degree, "sigma": scores.sigma, "seeds": seeds,
        "accuracy_mean": mean, "interval_low": low, "interval_high": high,
        "validation_mean": float(scores.validation.mean()), "published": published and published[0],
    })  # fmt: skip
    if as_json:
        click.echo(json.dumps(row))
        return
    name = as_degree(scores.degree).title + ("" if scores.sigma is None else f" σ={scores.sigma:g}")
    interval = "" if seeds == 1 else f"   (95 % over {seeds} seeds {low:.2f} to {high:.2f})"
    where = "the test nodes" if data.citation is None else f"the test nodes of {data.citation.title}"
    click.echo(f"{as_model(scores.model).title} with {name} on {where}: {mean:.2f} %{interval}")
    if published:
        click.echo(f"Published with degree centrality: {published[0]:.1f} % ({published[1]})")


def _sentence(row: dict[str, Any]) -> str:
    degree = as_degree(row["degree"]).title + ("" if row["sigma"] is None else f" σ={row['sigma']:g}")
    spread = "" if row["accuracy_std"] is None else f" ± {row['accuracy_std']:.2f}"
    return (
        f"{as_model(row['model']).title} with {degree}: {row['accuracy_mean']:.2f}{spread} %"
        f"   (95 % over folds {row['interval_low']:.2f} to {row['interval_high']:.2f}; {row['seconds']:.1f} s)"
    )
