"""The paper's three tables, rendered from rows."""

from grande_gnn.experiments.tables.plans import TABLES, TablePlan
from grande_gnn.experiments.tables.results import Results, gather
from grande_gnn.experiments.tables.table import write_table
from grande_gnn.experiments.tables.table2_neurons import NEURONS

__all__ = ["NEURONS", "TABLES", "Results", "TablePlan", "gather", "write_table"]
