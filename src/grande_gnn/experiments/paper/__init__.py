"""The paper's printed numbers, as data."""

from grande_gnn.experiments.paper.printed import FEATURES, paper_features, paper_row, read_table

__all__ = ["FEATURES", "paper_features", "paper_row", "read_table"]
