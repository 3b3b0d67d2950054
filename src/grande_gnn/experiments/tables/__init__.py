"""The paper's three tables, rendered from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.tables.results import Evidence
from grande_gnn.experiments.tables.table import Table, to_csv, to_latex, to_markdown
from grande_gnn.experiments.tables.table1_gains import gains_table, gains_trials, without_uncut
from grande_gnn.experiments.tables.table2_neurons import NEURONS, neurons_table, neurons_trials
from grande_gnn.experiments.tables.table3_systems import pairs_table, systems_table, systems_trials
from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["NEURONS", "TABLES", "Evidence", "TablePlan", "write_table"]


@dataclass(frozen=True)
class TablePlan:
    """One table of the paper: the trials it needs and how it is made from their rows."""

    trials: Callable[[Plan], Iterator[Trial]]
    builders: Mapping[str, Callable[[Evidence], Table]]
    """File name → what makes that table."""
    widths: tuple[int, ...] = (256,)
    fit_to_data: Callable[[Plan, Mapping[FeatureSet, LoadedSet]], Plan] = lambda plan, _: plan
    """What is left out of the plan because the data does not allow it."""


TABLES: Mapping[int, TablePlan] = {
    1: TablePlan(gains_trials, {"table1": gains_table}, fit_to_data=without_uncut),
    2: TablePlan(neurons_trials, {"table2": neurons_table}, widths=NEURONS),
    3: TablePlan(systems_trials, {"table3": systems_table, "table3-pairs": pairs_table}),
}
"""The paper's tables by number."""

_FACES = {".md": to_markdown, ".csv": to_csv, ".tex": to_latex}


def write_table(table: Table, folder: Path, name: str) -> list[Path]:
    """Write the table's three faces and return their paths."""
    paths = []
    for suffix, render in _FACES.items():
        path = folder / f"{name}{suffix}"
        path.write_text(render(table), encoding="utf-8")
        paths.append(path)
    return paths
