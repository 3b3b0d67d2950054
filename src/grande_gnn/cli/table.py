"""``grande table``: a table of the paper, from the user's features."""

from __future__ import annotations

import sys
from typing import Any

import click

from grande_gnn.cli.experiment_options import RunOptions, data_options, run_options, run_trials


@click.command("table")
@click.argument("number", type=click.Choice(["1", "2", "3"]))
@data_options
@run_options
@click.option(
    "--inner-folds",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Table 1: parts of the labelled fold for choosing σ by nested cross-validation; 0 leaves it out.",
)
@click.option(
    "--systems", multiple=True, metavar="NAME", help="Tables 2 and 3: only this system; repeat for several."
)
def command(number: str, inner_folds: int, systems: tuple[str, ...], **options: Any) -> None:
    """Reproduce table 1, 2 or 3 of the paper on the features in --data.

    \b
    1  degree centrality against GRaNDe: σ = 0.2, the best σ, the gain
    2  64, 128 and 256 neurons of APPNP for MGCN, DGCG and GRaNDe
    3  every system

    Results are rows in OUT/rows.jsonl, and the table as OUT/tableN.md, .csv and .tex, compared with the paper's
    numbers. A run that was stopped continues where it was when it is started again.
    """
    from grande_gnn.experiments.tables import TABLES, write_table
    from grande_gnn.experiments.tables.table import to_markdown

    table, chosen = TABLES[int(number)], RunOptions(**options)
    plan = chosen.plan(widths=table.widths, inner_folds=inner_folds, systems=systems)
    sets = chosen.load(plan)
    plan = table.fit_to_data(plan, sets)
    results = run_trials(chosen, plan, table.trials(plan), sets)
    for name, build in table.builders.items():
        built = build(results)
        paths = write_table(built, chosen.out, name)
        click.echo(to_markdown(built))
        click.echo(f"written: {', '.join(str(path) for path in paths)}", err=True)
    sys.exit(1 if results.failed else 0)
