"""Table 1: the gain of the GRaNDe degree over degree centrality.

The best σ appears twice: as in the paper, chosen by the mean accuracy on the test samples of all folds (an
oracle), and chosen for each fold by nested cross-validation of its labelled samples alone.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from grande_gnn.engine import as_model
from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.folds import folds_fill_parts
from grande_gnn.experiments.statistics import Scores, nested_sigmas, paired_interval
from grande_gnn.experiments.tables.results import Results
from grande_gnn.experiments.tables.table import Cell, Gap, Number, Table, Text
from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["gains_table", "gains_trials", "where_folds_split"]

logger = logging.getLogger(__name__)

_HEADER = r"""\textbf{GNN} & \textbf{Dataset} & \textbf{Features} & \textbf{Accuracy with} &
\multicolumn{5}{c|}{\cellcolor{cinza}\textbf{Accuracy with GRaNDe}} & \textbf{Relative} & \textbf{Default minus} \\
\cline{5-9}
 & & & \textbf{Degree Centrality} & \textbf{Default $\sigma=%g$} & \textbf{Best $\sigma$ (test)} & $\sigma$ &
\textbf{Best $\sigma$ (training)} & $\sigma$ & \textbf{Gain} & \textbf{degree, 95\,\%%} \\"""


def where_folds_split(plan: Plan, sets: Mapping[FeatureSet, LoadedSet]) -> Plan:
    """The plan without the nested-CV σ for features whose folds have too few labels to choose it; these get a warning."""
    if not plan.inner_folds:
        return plan
    cannot_split = frozenset(
        source.name
        for source, loaded in sets.items()
        if not folds_fill_parts(loaded.codes, plan.folds, plan.inner_folds)
    )
    plan = replace(plan, cannot_split=cannot_split)
    for note in _notes_on_small_folds(plan):
        logger.warning("note: %s", note)
    return plan


def _notes_on_small_folds(plan: Plan) -> list[str]:
    parts = plan.inner_folds
    return [
        f"{source}: best σ (in the training fold) is left out, because not every fold has {parts} labels of one class "
        f"to split into {parts} parts; fewer folds (--folds) or parts (--inner-folds) bring it back."
        for source in plan.data
        if source.name in plan.cannot_split
    ]


def gains_trials(plan: Plan) -> Iterator[Trial]:
    """Degree centrality and every σ in all folds and repetitions, and the inner trials of the nested-CV σ."""
    for source in plan.data:
        for model in plan.models:
            outer = list(plan.engine_trials(source, model, [None, *_sigmas(plan)]))
            yield from outer
            yield from plan.inner_trials(outer)


def _sigmas(plan: Plan) -> list[float]:
    return sorted({plan.sigma, *plan.sigmas})


def gains_table(results: Results) -> Table:
    """The paper's table 1 made from our rows, with the paper's numbers next to ours."""
    plan = results.plan
    rows = [_row(results, source, model) for model in plan.models for source in plan.data]
    return Table(
        caption="Accuracy (%) of APPNP and SGC with degree centrality and with GRaNDe.",
        columns={
            "gnn": "GNN",
            "dataset": "Dataset",
            "features": "Features",
            "centrality": "Degree centrality",
            "grande": f"GRaNDe σ = {plan.sigma:g}",
            "best": "Best σ (on the test folds)",
            "best_sigma": "σ",
            "honest": "Best σ (in the training fold)",
            "honest_sigma": "σ",
            "gain": "Relative gain",
            "difference": f"σ = {plan.sigma:g} minus degree, 95 %",
        },
        rows=_best_of_each_dataset_blue(rows),
        n_groups=3,
        notes=[
            "± is the sample deviation of the repetitions' means.",
            "Best σ (on the test folds) is the paper's: an oracle.",
            f"Best σ (in the training fold) is chosen for each fold by {plan.inner_folds}-fold cross-validation of "
            "its labelled samples; the σ after it is the one chosen most often."
            if plan.inner_folds
            else "Best σ in the training fold was left out of this run.",
            *_notes_on_small_folds(plan),
            "Relative gain: best σ on the test folds against degree centrality, as in the paper.",
            "The last column is Student's 95 % interval of the mean difference over paired folds.",
            *results.notes(),
        ],
        latex_header=_HEADER % plan.sigma,
        latex_columns="l|l|l|c|c|cc|cc|l|l",
    )


def _row(results: Results, source: FeatureSet, model: str) -> list[Cell]:
    plan, paper = results.plan, results.paper_row(1, source, gnn=as_model(model).title)
    trials = {sigma: list(plan.engine_trials(source, model, [sigma])) for sigma in [None, *_sigmas(plan)]}
    scores = {sigma: results.scores(members) for sigma, members in trials.items()}
    whole = {sigma: score for sigma, score in scores.items() if sigma is not None and score is not None}
    best_sigma = max(whole, key=lambda sigma: whole[sigma].mean) if len(whole) == len(trials) - 1 else None
    centrality, default = scores[None], scores[plan.sigma]
    best = None if best_sigma is None else whole[best_sigma]
    chosen = nested_sigmas(results.finished, plan.inner_trials(t for m in trials.values() for t in m))
    nested = Scores(_per_fold(whole, chosen)) if chosen and best is not None else None
    numbers = [
        Number.of(centrality, paper, "centrality"),
        Number.of(default, paper, "grande"),
        Number.of(best, paper, "best"),
    ]
    gain = None if best is None or centrality is None else 100 * (best.mean / centrality.mean - 1)
    gap = None
    if default is not None and centrality is not None:
        gap = paired_interval(default.values, centrality.values)
    return [
        Text(as_model(model).title),
        Text(results.title(source)),
        Text(source.features),
        *_bold_best(numbers),
        Text("" if best_sigma is None else f"{best_sigma:g}"),
        Number.of(nested, None, ""),
        Text(f"{Counter(chosen.values()).most_common(1)[0][0]:g}" if chosen else ""),
        Number(gain, paper=paper["gain_percent"] if paper else "", percent=True),
        Gap(gap),
    ]


def _per_fold(scores: dict[float, Scores], chosen: dict[int, float]) -> np.ndarray:
    """The accuracies of the σ chosen in each fold."""
    return np.stack([scores[chosen[fold]].values[:, fold] for fold in sorted(chosen)], axis=1)


def _bold_best(numbers: Iterable[Number]) -> list[Number]:
    """The first of the row's highest numbers in bold."""
    numbers = list(numbers)
    known = [number.value for number in numbers if number.value is not None]
    best = next((i for i, number in enumerate(numbers) if known and number.value == max(known)), None)
    return [replace(number, bold=i == best) for i, number in enumerate(numbers)]


def _best_of_each_dataset_blue(rows: list[list[Cell]]) -> list[list[Cell]]:
    """As in the paper: the best number of each model and dataset in blue."""
    top: dict[tuple[Cell, Cell], float] = {}
    for gnn, dataset, *cells in rows:
        values = [cell.value for cell in cells if isinstance(cell, Number) and cell.bold and cell.value]
        top[gnn, dataset] = max([*values, top.get((gnn, dataset), 0.0)])
    return [
        [
            replace(c, blue=True)
            if isinstance(c, Number) and c.bold and c.value == top[row[0], row[1]]
            else c
            for c in row
        ]
        for row in rows
    ]
