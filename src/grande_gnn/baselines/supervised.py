"""Classifiers that use the labelled samples only: those of scikit-learn, with their defaults.

The paper's columns agree with the defaults ("traditional approach from sklearn"); the settings of WSEF's authors are
``SVM(kernel="poly", degree=2, gamma=1e-3, C=10)`` and ``KNN(n_neighbors=20)``.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.internal.validation import UNLABELLED

__all__ = ["KNN", "SVM", "LogReg", "MLPerceptron", "Supervised", "quiet_fit"]


class Supervised(System):
    """Fit a scikit-learn classifier on the labelled samples and predict all; reaches every sample."""

    @abstractmethod
    def _classifier(self, n_labelled: int) -> Any:
        """A new scikit-learn classifier for that many labelled samples."""

    def _transduce(self, X: NDArray[np.float32], codes: NDArray[np.int64]) -> Transduction:
        labelled = codes != UNLABELLED
        known = codes[labelled]
        reached = np.ones(len(X), dtype=bool)
        if (
            known == known[0]
        ).all():  # scikit-learn refuses a single class, and there is only one possible prediction
            return Transduction(np.full(len(X), known[0]), reached)
        return Transduction(quiet_fit(self._classifier(len(known)), X[labelled], known).predict(X), reached)


def quiet_fit(estimator: Any, X: NDArray[Any], y: NDArray[Any]) -> Any:
    """Fit without warnings about convergence: the number of iterations is part of each system."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "y contains no unlabeled samples")
        return estimator.fit(X, y)


class SVM(Supervised):
    """Support vector classification, RBF kernel by default."""

    def __init__(self, C: float = 1.0, kernel: str = "rbf", degree: int = 3, gamma: str | float = "scale"):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma

    def _classifier(self, n_labelled: int) -> Any:
        from sklearn.svm import SVC

        return SVC(**self.get_params())


class KNN(Supervised):
    """The majority class of the nearest labelled samples, or of all of them if there are fewer than ``n_neighbors``."""

    def __init__(self, n_neighbors: int = 5):
        self.n_neighbors = n_neighbors

    def _classifier(self, n_labelled: int) -> Any:
        from sklearn.neighbors import KNeighborsClassifier

        return KNeighborsClassifier(min(self.n_neighbors, n_labelled))


class MLPerceptron(Supervised):
    """One hidden layer of 100, Adam, 200 epochs. ``scale=True`` standardizes the features first.

    With unscaled features and many classes it is under-trained, but this is the default of scikit-learn.
    """

    def __init__(self, hidden: int = 100, scale: bool = False, random_state: int | None = None):
        self.hidden = hidden
        self.scale = scale
        self.random_state = random_state

    def _classifier(self, n_labelled: int) -> Any:
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        perceptron = MLPClassifier((self.hidden,), random_state=self.random_state)
        return make_pipeline(StandardScaler(), perceptron) if self.scale else perceptron


class LogReg(Supervised):
    """Multinomial logistic regression, which most users would try first."""

    def __init__(self, C: float = 1.0, max_iter: int = 1000):
        self.C = C
        self.max_iter = max_iter  # 100, scikit-learn's default, stops early on raw features

    def _classifier(self, n_labelled: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=self.C, max_iter=self.max_iter)
