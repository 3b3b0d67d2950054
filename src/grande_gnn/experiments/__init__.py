"""The paper's protocol and what is computed from it."""

from grande_gnn.experiments.folds import Evaluation, evaluate, fold_labels, paper_folds
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
