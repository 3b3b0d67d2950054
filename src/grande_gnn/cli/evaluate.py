"""``grande evaluate``: the paper's protocol on a features file."""

from __future__ import annotations

import json
from typing import Any

import click

from grande_gnn.cli.options import device_option, graph_options, model_options, progress_bar, seed_option


@click.command("evaluate")
@click.argument("file", metavar="FILE.npz", type=click.Path())
@model_options
@click.option("--degree", type=click.Choice(["grande", "centrality"]), default="grande", show_default=True)
@click.option(
    "--sigma", type=float, multiple=True, default=(0.2,), show_default=True, help="Repeat for several."
)
@click.option("--folds", type=click.IntRange(min=2), default=10, show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True)
@graph_options
@device_option
@seed_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, one for each sigma.")
def command(file: str, as_json: bool, **options: Any) -> None:
    """Measure accuracy on FILE.npz: each fold in turn is labelled, the others are to be found.

    FILE.npz holds 'features' (samples x features) and 'labels'. Accuracies are percentages: the mean over
    repetitions ± the standard deviation between them, and the 95 % interval over folds.
    """
    from grande_gnn.errors import FileFormatError
    from grande_gnn.experiments import evaluate
    from grande_gnn.internal.features_file import load_features

    content = load_features(file)
    if content.labels is None:
        raise FileFormatError(f"{file} has no array 'labels', which evaluation needs; got features only")
    n_rows = len(options["sigma"]) if options["degree"] == "grande" else 1
    total = 200 * n_rows * options["folds"] * options["repeats"]
    with progress_bar(total) as advance:
        results = evaluate(
            content.features, content.labels,
            model=options["model"], degree=options["degree"], sigma=options["sigma"],
            folds=options["folds"], repeats=options["repeats"],
            graph=options["graph"], n_neighbors=options["neighbors"], normalize=options["normalize"],
            hidden=options["hidden"] or None, lr=options["lr"],
            device=options["device"], random_state=options["seed"], progress=advance,
        )  # fmt: skip
    for result in results:
        row = result.as_row()
        click.echo(json.dumps(row) if as_json else _sentence(row))


def _sentence(row: dict[str, Any]) -> str:
    degree = "degree centrality" if row["sigma"] is None else f"GRaNDe σ={row['sigma']:g}"
    spread = "" if row["accuracy_std"] is None else f" ± {row['accuracy_std']:.2f}"
    return (
        f"{row['model'].upper()} with {degree}: {row['accuracy_mean']:.2f}{spread} %"
        f"   (95 % over folds {row['interval_low']:.2f} to {row['interval_high']:.2f}; {row['seconds']:.1f} s)"
    )
