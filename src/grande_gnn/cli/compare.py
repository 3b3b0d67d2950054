"""``grande compare``: every system of the comparison on one features file, resumable with -o."""

from __future__ import annotations

import json
from typing import Any

import click

from grande_gnn.cli.bars import StageBars
from grande_gnn.cli.choices import Place
from grande_gnn.cli.options import device_option, folds_option, seed_option
from grande_gnn.internal.progress import reporting_to


def _list_systems(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from grande_gnn.baselines import SYSTEMS

    for entry in SYSTEMS.values():
        click.echo(f"{entry.name:<13}{entry.description}")
    context.exit()


@click.command("compare")
@click.argument("file", metavar="FILE.npz", type=Place())
@click.option("--systems", metavar="NAMES", help="Which systems, separated by commas.  [default: all]")
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_systems,
    help="List the systems.",
)
@folds_option
@click.option(
    "--repeats", type=click.IntRange(min=1), default=1, show_default=True,
    help="How often each fold is trained, with other random numbers.",
)  # fmt: skip
@click.option(
    "--images", metavar="DIR", type=Place(), help="Where the images are, for comatch and grande-adapt."
)
@click.option("--weights", metavar="FILE", type=Place(), help="Weights of comatch's backbone.")
@device_option
@seed_option
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object per line, one for each system and model."
)
@click.option(
    "-o",
    "--out",
    metavar="OUT",
    type=Place(),
    help="Keep the rows in OUT/rows.jsonl, so that a comparison that was stopped continues where it was.",
)
def command(
    file: str, systems: str | None, folds: int, repeats: int, images: str | None, weights: str | None,
    device: str, seed: int, as_json: bool, out: str | None,
) -> None:  # fmt: skip
    """Compare GRaNDe with every other system on FILE.npz: each fold in turn is labelled, the rest is tested.

    Accuracies are percentages: the mean ± the standard deviation between folds. Graph systems run with SGC and
    with APPNP. The difference is to the better of grande's two, folds paired, with its 95 % interval; the last column
    is how often the paper has the system below (-) or above (+) GRaNDe. If a system fails, its line has the reason.
    """
    from grande_gnn.baselines import SYSTEMS
    from grande_gnn.experiments.compare import compare_systems
    from grande_gnn.internal.features_file import load_features

    names = [name.strip() for name in systems.split(",")] if systems else list(SYSTEMS)
    results = compare_systems(
        load_features(file), names, folds=folds, repeats=repeats, seed=seed, images=images, out=out, path=file,
        device=device, weights=weights,
    )  # fmt: skip
    if not as_json:
        click.echo(_line("system", "model", "accuracy", "seconds", "difference to grande", "paper"))
    with StageBars() as bars, reporting_to(bars):
        for result in results:
            bars.close()
            row = result.as_row()
            click.echo(json.dumps(row) if as_json else _sentence(row))


def _line(*cells: str) -> str:
    return "{:<13}{:<7}{:<14} {:>8}  {:<25} {}".format(*cells).rstrip()


def _sentence(row: dict[str, Any]) -> str:
    name, model, seconds = row["system"], row["model"] or "", f"{row['seconds']:.1f}"
    if row.get("error"):
        return _line(name, model, "failed", seconds, row["error"], "")
    accuracy = f"{row['accuracy_mean']:.2f} ± {row['accuracy_std']:.2f}"
    difference = ""
    if row["difference"] is not None:
        difference = "{difference:+.2f} [{difference_low:+.2f}, {difference_high:+.2f}]".format(**row)
    notes = [row["paper_sign"] or ""]
    if row["unreached"]:
        notes.append(f"{row['unreached']:.1f} samples unreached")
    if row["backbone"]:
        notes.append(row["backbone"])
    return _line(name, model, accuracy, seconds, difference, "  ".join(notes).strip())
