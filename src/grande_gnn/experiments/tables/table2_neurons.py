"""Table 2: the width of APPNP's hidden layer, for MGCN, DGCG, plain degree and GRaNDe.

It shows whether a system still gains from 128 to 256 neurons. The notes below the table answer this for each system, with
the paired interval over the folds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.paper import paper_features, paper_row
from grande_gnn.experiments.statistics import Scores, paired_interval, verdict
from grande_gnn.experiments.tables.results import Results
from grande_gnn.experiments.tables.table import Cell, Number, Table, Text
from grande_gnn.experiments.trials import CENTRALITY, GRANDE, Plan, Trial

__all__ = ["NEURONS", "neurons_table", "neurons_trials"]

NEURONS = (64, 128, 256)
"""The paper's widths."""

_MODEL = "appnp"
"""The model with a hidden layer."""

_TITLES = {"mgcn": "MGCN", "dgcg": "DGCG", CENTRALITY: "Degree centrality", GRANDE: "GRaNDe"}


def neurons_trials(plan: Plan) -> Iterator[Trial]:
    """Every system at every width on every features file."""
    for source in plan.data:
        for width in plan.widths:
            for trials in _cells(plan, source, width).values():
                yield from trials


def _cells(plan: Plan, source: FeatureSet, width: int) -> dict[str, list[Trial]]:
    """The trials of one row, by system, with the σ of the paper's row if it has one."""
    row = paper_row(2, source.dataset, paper_features(source.features))
    sigma = float(row["sigma"]) if row else plan.sigma
    cells = {
        name: list(plan.system_trials(source, name, model=_MODEL, width=width))
        for name in plan.chosen_systems(("mgcn", "dgcg"))
    }
    cells[CENTRALITY] = list(plan.engine_trials(source, _MODEL, [None], [width]))
    cells[GRANDE] = list(plan.engine_trials(source, _MODEL, [sigma], [width]))
    return cells


def neurons_table(results: Results) -> Table:
    """The paper's table 2 made from our rows, with the paper's numbers next to ours, and notes on 128 → 256 neurons."""
    plan = results.plan
    names = list(_cells(plan, plan.data[0], plan.widths[0]))
    rows: list[list[Cell]] = []
    notes = []
    for source in plan.data:
        scores = {
            width: {name: results.scores(trials) for name, trials in _cells(plan, source, width).items()}
            for width in plan.widths
        }
        rows += _rows(results, source, scores)
        if len(plan.widths) > 1:
            notes.append(_what_width_brings(source, scores, plan.widths[-2], plan.widths[-1]))
    return Table(
        caption="Impact of the number of neurons on APPNP.",
        columns={
            "dataset": "Dataset",
            "features": "Features",
            "neurons": "Neurons",
            **{name: _TITLES[name] for name in names},
            "sigma": "σ",
        },
        rows=rows,
        n_groups=3,
        notes=notes + results.notes(),
        latex_columns="l|l|c|" + "c" * (len(names) - 1) + "|cc",
    )


def _rows(
    results: Results, source: FeatureSet, scores: Mapping[int, Mapping[str, Scores | None]]
) -> list[list[Cell]]:
    known = [score.mean for by_name in scores.values() for score in by_name.values() if score is not None]
    rows: list[list[Cell]] = []
    for width, by_name in scores.items():
        paper = results.paper_row(2, source, neurons=str(width))
        numbers = [Number.of(score, paper, name) for name, score in by_name.items()]
        sigma = _cells(results.plan, source, width)[GRANDE][0].sigma
        rows.append(
            [
                Text(results.title(source)),
                Text(source.features),
                Text(str(width)),
                *(replace(n, bold=n.value == max(known, default=None), mean_only=True) for n in numbers),
                Text(f"{sigma:g}"),
            ]
        )
    return rows


def _what_width_brings(
    source: FeatureSet, scores: Mapping[int, Mapping[str, Scores | None]], narrow: int, wide: int
) -> str:
    parts = []
    for name in scores[wide]:
        before, after = scores[narrow][name], scores[wide][name]
        if before is not None and after is not None:
            gap = paired_interval(after.values, before.values)
            parts.append(
                f"{_TITLES[name]} {verdict(gap)} ({gap.mean:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}])"
            )
    return f"{source}, from {narrow} to {wide} neurons: {'; '.join(parts)}."
