"""Table 3: every system on the same features and folds, and each one's paired difference from GRaNDe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from grande_gnn.baselines import find_system
from grande_gnn.engine import as_model
from grande_gnn.experiments.compare import REFERENCE
from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.statistics import Scores, paired_interval
from grande_gnn.experiments.tables.results import Results
from grande_gnn.experiments.tables.table import Cell, Gap, Number, Table, Text
from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["pairs_table", "systems_table", "systems_trials"]


def systems_trials(plan: Plan) -> Iterator[Trial]:
    """Every system on every features file; graph systems with both models."""
    for source in plan.data:
        for name in plan.chosen_systems():
            for model in _models(name):
                yield from plan.system_trials(source, name, model=model, width=plan.widths[-1])


def _models(name: str) -> tuple[str | None, ...]:
    return find_system(name).models or (None,)


def _better_model(results: Results, source: FeatureSet, name: str) -> tuple[Scores | None, str]:
    """The scores of the better of a system's models, and the name of that model."""
    found = []
    for model in _models(name):
        plan = results.plan
        scores = results.scores(plan.system_trials(source, name, model=model, width=plan.widths[-1]))
        if scores is not None:
            found.append((scores, "" if model is None else as_model(model).title))
    return max(found, key=lambda pair: pair[0].mean, default=(None, ""))


def systems_table(results: Results) -> Table:
    """The paper's table 3 made from our rows, with the paper's numbers next to ours."""
    plan = results.plan
    names = plan.chosen_systems()
    rows: list[list[Cell]] = []
    for source in plan.data:
        paper = results.paper_row(3, source)
        pairs = [_better_model(results, source, name) for name in names]
        best = max((scores.mean for scores, _ in pairs if scores is not None), default=None)
        numbers = [
            Number.of(scores, paper, name, model) for name, (scores, model) in zip(names, pairs, strict=True)
        ]
        bold = [replace(n, bold=best is not None and n.value == best, mean_only=True) for n in numbers]
        rows.append([Text(results.title(source)), Text(source.features), *bold])
    share = 100 / plan.folds
    return Table(
        caption=f"Accuracy (%) for semi-supervised classification of the same features, {share:g} % labelled.",
        columns={
            "dataset": "Dataset",
            "features": "Features",
            **{name: find_system(name).title for name in names},
        },
        rows=rows,
        n_groups=2,
        latex_header=_stacked(["Dataset", "Features", *(find_system(name).title for name in names)]),
        notes=[
            "Systems with a graph network run with SGC and APPNP; the table has the better one and names it "
            "(A: APPNP, S: SGC).",
            f"GRaNDe has σ = {plan.sigma:g} and {plan.widths[-1]} neurons throughout; the paper reports its best "
            "over σ and width.",
            *results.notes(),
        ],
    )


def _stacked(titles: list[str]) -> str:
    """Column titles broken where the paper breaks them, to keep columns narrow."""
    stacks = (re.sub(r"([+-]|(?= \())", r"\1}\\\\\\textbf{", title) for title in titles)
    return " & ".join(rf"\shortstack{{\textbf{{{stack}}}}}" for stack in stacks) + r" \\"


def pairs_table(results: Results) -> Table:
    """GRaNDe minus each other system, with the interval over paired folds and the paper's difference."""
    plan = results.plan
    rows: list[list[Cell]] = []
    for source in plan.data:
        ours, _ = _better_model(results, source, REFERENCE)
        paper = results.paper_row(3, source)
        for name in plan.chosen_systems():
            theirs, model = _better_model(results, source, name)
            if name == REFERENCE or ours is None or theirs is None:
                continue
            printed = paper.get(name, "") if paper else ""
            rows.append(
                [
                    Text(results.title(source)),
                    Text(source.features),
                    Text(f"{find_system(name).title} {model}".strip()),
                    Gap(
                        paired_interval(ours.values, theirs.values),
                        f"{float(paper['grande']) - float(printed):+.2f}" if paper and printed else "",
                    ),
                ]
            )
    return Table(
        caption="GRaNDe minus each system: mean difference (points) and its 95 % interval over paired folds.",
        columns={
            "dataset": "Dataset",
            "features": "Features",
            "system": "System",
            "difference": "GRaNDe minus system",
        },
        rows=rows,
        n_groups=3,
        notes=results.notes(),
    )
