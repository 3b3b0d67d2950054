"""Table 3: every system on the same features and folds, and each one's paired difference from GRaNDe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from grande_gnn.baselines import find_system
from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.scores import Scores
from grande_gnn.experiments.statistics import paired_interval
from grande_gnn.experiments.systems import chosen, system_trials, title_of
from grande_gnn.experiments.tables.results import Evidence
from grande_gnn.experiments.tables.table import Cell, Gap, Number, Table, Text
from grande_gnn.experiments.trials import GRANDE, Plan, Trial

__all__ = ["pairs_table", "systems_table", "systems_trials"]


def systems_trials(plan: Plan) -> Iterator[Trial]:
    """Every system, with both models where it has them, on every features file."""
    for source in plan.data:
        for name in chosen(plan):
            for model in _models(name):
                yield from system_trials(plan, source, name, model=model, width=plan.widths[-1])


def _models(name: str) -> tuple[str | None, ...]:
    return find_system(name).models or (None,)


def _better_model(evidence: Evidence, source: FeatureSet, name: str) -> tuple[Scores | None, str]:
    """The scores of the better of a system's models, and which that is."""
    found = []
    for model in _models(name):
        trials = system_trials(evidence.plan, source, name, model=model, width=evidence.plan.widths[-1])
        scores = evidence.scores(trials)
        if scores is not None:
            found.append((scores, (model or "").upper()))
    return max(found, key=lambda pair: pair[0].mean, default=(None, ""))


def systems_table(evidence: Evidence) -> Table:
    """The paper's table 3 from the rows, its numbers beside ours."""
    plan = evidence.plan
    names = chosen(plan)
    rows: list[list[Cell]] = []
    for source in plan.data:
        paper = evidence.paper_row(3, source)
        pairs = [_better_model(evidence, source, name) for name in names]
        best = max((scores.mean for scores, _ in pairs if scores is not None), default=None)
        numbers = [
            Number.of(scores, paper, name, model) for name, (scores, model) in zip(names, pairs, strict=True)
        ]
        bold = [replace(n, bold=best is not None and n.value == best, mean_only=True) for n in numbers]
        rows.append([Text(evidence.title(source)), Text(source.features), *bold])
    share = 100 / plan.folds
    return Table(
        caption=f"Accuracy (%) for semi-supervised classification of the same features, {share:g} % labelled.",
        columns={"dataset": "Dataset", "features": "Features", **{name: title_of(name) for name in names}},
        rows=rows,
        n_groups=2,
        latex_header=_stacked(["Dataset", "Features", *(title_of(name) for name in names)]),
        notes=[
            "Systems with a graph network run with SGC and APPNP; the better one stands here, named beside it "
            "(A: APPNP, S: SGC).",
            f"GRaNDe has σ = {plan.sigma:g} and {plan.widths[-1]} neurons throughout; the paper reports its best "
            "over σ and width.",
            *evidence.notes(),
        ],
    )


def _stacked(titles: list[str]) -> str:
    """Column titles broken where the paper breaks them, to keep columns narrow."""
    stacks = (re.sub(r"([+-]|(?= \())", r"\1}\\\\\\textbf{", title) for title in titles)
    return " & ".join(rf"\shortstack{{\textbf{{{stack}}}}}" for stack in stacks) + r" \\"


def pairs_table(evidence: Evidence) -> Table:
    """GRaNDe minus each other system with its interval over paired folds, the paper's difference beside it."""
    plan = evidence.plan
    rows: list[list[Cell]] = []
    for source in plan.data:
        ours, _ = _better_model(evidence, source, GRANDE)
        paper = evidence.paper_row(3, source)
        for name in chosen(plan):
            theirs, model = _better_model(evidence, source, name)
            if name == GRANDE or ours is None or theirs is None:
                continue
            printed = paper.get(name, "") if paper else ""
            rows.append(
                [
                    Text(evidence.title(source)),
                    Text(source.features),
                    Text(f"{title_of(name)} {model}".strip()),
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
        notes=evidence.notes(),
    )
