"""The paper's three tables by number: the trials that each needs, and the function that builds it from their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.tables.results import Results
from grande_gnn.experiments.tables.table import Table
from grande_gnn.experiments.tables.table1_gains import gains_table, gains_trials, where_folds_split
from grande_gnn.experiments.tables.table2_neurons import NEURONS, neurons_table, neurons_trials
from grande_gnn.experiments.tables.table3_systems import pairs_table, systems_table, systems_trials
from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["TABLES", "TablePlan"]


@dataclass(frozen=True)
class TablePlan:
    """One table of the paper: the trials that it needs, and how it is built from their rows."""

    trials: Callable[[Plan], Iterator[Trial]]
    builders: Mapping[str, Callable[[Results], Table]]
    """File name → the function that builds that table."""
    widths: tuple[int, ...] = (256,)
    fit_to_data: Callable[[Plan, Mapping[FeatureSet, LoadedSet]], Plan] = lambda plan, _: plan
    """Removes from a plan whatever the data does not allow."""


TABLES: Mapping[int, TablePlan] = {
    1: TablePlan(gains_trials, {"table1": gains_table}, fit_to_data=where_folds_split),
    2: TablePlan(neurons_trials, {"table2": neurons_table}, widths=NEURONS),
    3: TablePlan(systems_trials, {"table3": systems_table, "table3-pairs": pairs_table}),
}
"""The paper's tables by number."""
