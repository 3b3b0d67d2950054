"""The paper's protocol: trials → rows → accuracies, tables and figures."""

from grande_gnn.experiments.evaluate import Evaluation, evaluate
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.experiments.statistics import Interval, interval_over_folds, paired_interval

__all__ = [
    "Evaluation",
    "Interval",
    "evaluate",
    "fold_labels",
    "interval_over_folds",
    "paired_interval",
    "paper_folds",
]
