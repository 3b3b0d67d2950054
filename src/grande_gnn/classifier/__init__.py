"""The scikit-learn estimator and what it is made of."""

from typing import TYPE_CHECKING

from grande_gnn.internal.lazy import lazy_names

if TYPE_CHECKING:
    from grande_gnn.classifier.estimator import GrandeClassifier
    from grande_gnn.classifier.problem import LabelSet, LearningProblem

__all__ = ["GrandeClassifier", "LabelSet", "LearningProblem"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "GrandeClassifier": f"{__name__}.estimator",
        "LabelSet": f"{__name__}.problem",
        "LearningProblem": f"{__name__}.problem",
    },
)
