"""``grande table``: a table of the paper, from the user's features."""

from __future__ import annotations

import sys
from typing import Any

import click

from grande_gnn.cli.experiment_options import data_options, gather, load_sets, make_plan, run_options


@click.command("table")
@click.argument("number", type=click.Choice(["1", "2", "3"]))
@data_options
@run_options
@click.option(
    "--inner-folds",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Table 1: parts of the labelled fold to pick σ honestly; 0 leaves that out.",
)
@click.option("--systems", multiple=True, metavar="NAME", help="Tables 2 and 3: only these; repeat.")
def command(number: str, **options: Any) -> None:
    """Reproduce table 1, 2 or 3 of the paper on the features in --data.

    \b
    1  degree centrality against GRaNDe: σ = 0.2, the best σ, the gain
    2  64, 128 and 256 neurons of APPNP for MGCN, DGCG and GRaNDe
    3  every system

    Results are rows in OUT/rows.jsonl, and the table as OUT/tableN.md, .csv and .tex with the paper's numbers
    beside ours. A run that was stopped goes on where it was when it is started again.
    """
    from grande_gnn.experiments.tables import TABLES, write_table
    from grande_gnn.experiments.tables.table import to_markdown

    table = TABLES[int(number)]
    plan = make_plan(
        options, widths=table.widths, inner_folds=options["inner_folds"], systems=tuple(options["systems"])
    )
    sets = load_sets(plan)
    plan = table.fit_to_data(plan, sets)
    evidence = gather(plan, table.trials(plan), sets, options)
    for name, build in table.builders.items():
        built = build(evidence)
        paths = write_table(built, options["out"], name)
        click.echo(to_markdown(built))
        click.echo(f"written: {', '.join(str(path) for path in paths)}", err=True)
    sys.exit(1 if evidence.failed else 0)
