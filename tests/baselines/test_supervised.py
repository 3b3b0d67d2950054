import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from grande_gnn.baselines.supervised import KNN, SVM, LogReg, MLPerceptron


@pytest.mark.parametrize(
    ("ours", "reference"),
    [
        (SVM(), SVC()),
        (SVM(C=10, kernel="poly", degree=2, gamma=1e-3), SVC(C=10, kernel="poly", degree=2, gamma=1e-3)),
        (KNN(), KNeighborsClassifier()),
        (LogReg(), LogisticRegression(max_iter=1000)),
        (MLPerceptron(random_state=4), MLPClassifier(random_state=4)),
    ],
    ids=lambda system: type(system).__name__,
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_is_scikit_learns_on_the_labelled_samples(ours, reference):
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    given = np.where(np.arange(150) % 10 == 0, y, -1)
    reference.fit(X[given >= 0], y[given >= 0])
    np.testing.assert_array_equal(ours.fit(X, given).transduction_, reference.predict(X))


def test_scaling_makes_the_perceptron_blind_to_units():
    X, y = load_iris(return_X_y=True)
    given = np.where(np.arange(150) % 10 == 0, y, -1)
    kilo, plain = (MLPerceptron(scale=True, random_state=0).fit(X * unit, given) for unit in (1000, 1))
    assert (kilo.transduction_ == plain.transduction_).mean() > 0.98
