"""Table 1: what the GRaNDe degree gains over degree centrality.

Best σ stands there twice: as in the paper, picked by the mean accuracy on the test samples of all folds (an
oracle), and honestly, picked for each fold among its labelled samples alone.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.folds import folds_fill_parts
from grande_gnn.experiments.scores import Scores, honest_sigmas
from grande_gnn.experiments.statistics import paired_interval
from grande_gnn.experiments.tables.results import Evidence
from grande_gnn.experiments.tables.table import Cell, Gap, Number, Table, Text
from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["gains_table", "gains_trials", "without_uncut"]

logger = logging.getLogger(__name__)

_HEADER = r"""\textbf{GNN} & \textbf{Dataset} & \textbf{Features} & \textbf{Accuracy with} &
\multicolumn{5}{c|}{\cellcolor{cinza}\textbf{Accuracy with GRaNDe}} & \textbf{Relative} & \textbf{Default minus} \\
\cline{5-9}
 & & & \textbf{Degree Centrality} & \textbf{Default $\sigma=%g$} & \textbf{Best $\sigma$ (test)} & $\sigma$ &
\textbf{Best $\sigma$ (training)} & $\sigma$ & \textbf{Gain} & \textbf{degree, 95\,\%%} \\"""


def without_uncut(plan: Plan, sets: Mapping[FeatureSet, LoadedSet]) -> Plan:
    """The plan that leaves the honest σ out, and says so, for features with too few labels in a fold to pick it."""
    if not plan.inner_folds:
        return plan
    uncut = frozenset(
        source.name
        for source, loaded in sets.items()
        if not folds_fill_parts(loaded.codes, plan.folds, plan.inner_folds)
    )
    plan = replace(plan, uncut=uncut)
    for note in _notes_on_uncut(plan):
        logger.warning("note: %s", note)
    return plan


def _notes_on_uncut(plan: Plan) -> list[str]:
    parts = plan.inner_folds
    return [
        f"{source}: best σ (in the training fold) is left out, because not every fold has {parts} labels of one class "
        f"to cut into {parts} parts; fewer folds (--folds) or parts (--inner-folds) bring it back."
        for source in plan.data
        if source.name in plan.uncut
    ]


def gains_trials(plan: Plan) -> Iterator[Trial]:
    """Degree centrality and every σ in all folds and repetitions, and the inner trials of the honest σ."""
    for source in plan.data:
        for model in plan.models:
            outer = list(plan.engine_trials(source, model, [None, *_sigmas(plan)]))
            yield from outer
            yield from plan.inner_trials(outer)


def _sigmas(plan: Plan) -> list[float]:
    return sorted({plan.sigma, *plan.sigmas})


def gains_table(evidence: Evidence) -> Table:
    """The paper's table 1 from the rows, its numbers beside ours."""
    plan = evidence.plan
    rows = [_row(evidence, source, model) for model in plan.models for source in plan.data]
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
            f"Best σ (in the training fold) is picked for each fold by {plan.inner_folds}-fold cross-validation of "
            "its labelled samples; beside it, the σ most often picked."
            if plan.inner_folds
            else "Best σ in the training fold was left out of this run.",
            *_notes_on_uncut(plan),
            "Relative gain: best σ on the test folds against degree centrality, as in the paper.",
            "The last column is Student's 95 % interval of the mean difference over paired folds.",
            *evidence.notes(),
        ],
        latex_header=_HEADER % plan.sigma,
        latex_columns="l|l|l|c|c|cc|cc|l|l",
    )


def _row(evidence: Evidence, source: FeatureSet, model: str) -> list[Cell]:
    plan, paper = evidence.plan, evidence.paper_row(1, source, gnn=model.upper())
    trials = {sigma: list(plan.engine_trials(source, model, [sigma])) for sigma in [None, *_sigmas(plan)]}
    scores = {sigma: evidence.scores(members) for sigma, members in trials.items()}
    whole = {sigma: score for sigma, score in scores.items() if sigma is not None and score is not None}
    best_sigma = max(whole, key=lambda sigma: whole[sigma].mean) if len(whole) == len(trials) - 1 else None
    centrality, default = scores[None], scores[plan.sigma]
    best = None if best_sigma is None else whole[best_sigma]
    picked = honest_sigmas(evidence.finished, plan.inner_trials(t for m in trials.values() for t in m))
    honest = Scores(_per_fold(whole, picked)) if picked and best is not None else None
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
        Text(model.upper()),
        Text(evidence.title(source)),
        Text(source.features),
        *_bold_best(numbers),
        Text("" if best_sigma is None else f"{best_sigma:g}"),
        Number.of(honest, None, ""),
        Text(f"{Counter(picked.values()).most_common(1)[0][0]:g}" if picked else ""),
        Number(gain, paper=paper["gain_percent"] if paper else "", percent=True),
        Gap(gap),
    ]


def _per_fold(scores: dict[float, Scores], picked: dict[int, float]) -> np.ndarray:
    """The accuracies of the σ picked in each fold."""
    return np.stack([scores[picked[fold]].values[:, fold] for fold in sorted(picked)], axis=1)


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
