"""Table 2: the width of APPNP's hidden layer, for MGCN, DGCG, plain degree and GRaNDe.

The question behind it: does a system still gain from 128 to 256 neurons? It is answered below the table for
each, with the paired interval over the folds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.paper import paper_features, paper_row
from grande_gnn.experiments.scores import Scores, verdict
from grande_gnn.experiments.statistics import paired_interval
from grande_gnn.experiments.systems import chosen, system_trials
from grande_gnn.experiments.tables.results import Evidence
from grande_gnn.experiments.tables.table import Cell, Number, Table, Text
from grande_gnn.experiments.trials import CENTRALITY, GRANDE, Plan, Trial

__all__ = ["NEURONS", "neurons_table", "neurons_trials"]

NEURONS = (64, 128, 256)
"""The paper's widths."""

_TITLES = {"mgcn": "MGCN", "dgcg": "DGCG", CENTRALITY: "Degree centrality", GRANDE: "GRaNDe"}


def neurons_trials(plan: Plan) -> Iterator[Trial]:
    """Every system at every width on every features file."""
    for source in plan.data:
        for width in plan.widths:
            for trials in _cells(plan, source, width).values():
                yield from trials


def _cells(plan: Plan, source: FeatureSet, width: int) -> dict[str, list[Trial]]:
    """The trials of one row, by system; the paper's σ where its row has one of its own."""
    row = paper_row(2, source.dataset, paper_features(source.features))
    sigma = float(row["sigma"]) if row else plan.sigma
    cells = {
        name: list(system_trials(plan, source, name, model="appnp", width=width))
        for name in chosen(plan, ("mgcn", "dgcg"))
    }
    cells[CENTRALITY] = list(plan.engine_trials(source, "appnp", [None], [width]))
    cells[GRANDE] = list(plan.engine_trials(source, "appnp", [sigma], [width]))
    return cells


def neurons_table(evidence: Evidence) -> Table:
    """The paper's table 2 from the rows, its numbers beside ours, and what 128 → 256 neurons bring."""
    plan = evidence.plan
    names = list(_cells(plan, plan.data[0], plan.widths[0]))
    rows: list[list[Cell]] = []
    notes = []
    for source in plan.data:
        scores = {
            width: {name: evidence.scores(trials) for name, trials in _cells(plan, source, width).items()}
            for width in plan.widths
        }
        rows += _rows(evidence, source, scores)
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
        notes=notes + evidence.notes(),
        latex_columns="l|l|c|" + "c" * (len(names) - 1) + "|cc",
    )


def _rows(
    evidence: Evidence, source: FeatureSet, scores: Mapping[int, Mapping[str, Scores | None]]
) -> list[list[Cell]]:
    known = [score.mean for by_name in scores.values() for score in by_name.values() if score is not None]
    rows: list[list[Cell]] = []
    for width, by_name in scores.items():
        paper = evidence.paper_row(2, source, neurons=str(width))
        numbers = [Number.of(score, paper, name) for name, score in by_name.items()]
        sigma = _cells(evidence.plan, source, width)[GRANDE][0].sigma
        rows.append(
            [
                Text(evidence.title(source)),
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
