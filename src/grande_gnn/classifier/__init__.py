"""The scikit-learn estimator and what it is made of."""

from grande_gnn.classifier.estimator import GrandeClassifier

__all__ = ["GrandeClassifier"]
