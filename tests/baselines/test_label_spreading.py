import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from grande_gnn.baselines.label_spreading import SpreadThenClassify
from grande_gnn.errors import InvalidInputError


@pytest.fixture
def data():
    rng = np.random.default_rng(2)
    y = np.arange(90) % 3
    X = (rng.normal(size=(3, 4)) * 1.5)[y] + rng.normal(size=(90, 4))
    return X.astype(np.float32), y, np.where(np.arange(90) < 12, y, -1)


@pytest.mark.filterwarnings("ignore:max_iter")
@pytest.mark.parametrize(("second", "classifier"), [("knn", KNeighborsClassifier()), ("svm", SVC())])
def test_is_scikit_learns_twice(data, second, classifier):
    X, _, given = data
    spread = LabelSpreading(kernel="knn").fit(X, given)
    assert (spread.label_distributions_.sum(axis=1) > 0).all()
    expected = classifier.fit(X, spread.transduction_).predict(X)
    np.testing.assert_array_equal(SpreadThenClassify(second).fit(X, given).transduction_, expected)


@pytest.mark.filterwarnings("ignore:max_iter")
def test_opf_behind_it_copies_it(data):
    X, _, given = data
    spread = LabelSpreading(kernel="knn").fit(X, given).transduction_
    np.testing.assert_array_equal(SpreadThenClassify("opf").fit(X, given).transduction_, spread)


def test_converges_to_the_closed_form(data):
    """F* = (1 − α)(I − αS)⁻¹Y with S = −Laplacian off the diagonal (Zhou et al., equation 4)."""
    X, _, given = data
    W = kneighbors_graph(X, 7, include_self=True).toarray()
    np.fill_diagonal(W, 0)
    degree = W.sum(axis=0)
    degree[degree == 0] = 1
    S = W / np.sqrt(np.outer(degree, degree))
    Y = np.eye(3)[given] * (given >= 0)[:, None]
    exact = np.linalg.solve(np.eye(90) - 0.2 * S, 0.8 * Y)
    assert (exact.sum(axis=1) > 1e-9).all()
    ours = SpreadThenClassify("opf", max_iter=200).fit(X, given).transduction_
    np.testing.assert_array_equal(ours, exact.argmax(axis=1))


def test_unreached_samples_are_said_and_not_class_0():
    far = np.repeat([[0.0, 0.0], [50.0, 0.0], [52.0, 0.0]], 10, axis=0)
    X = far + np.random.default_rng(0).normal(size=far.shape) * 0.1
    y = np.repeat([0, 1, 2], 10)
    given = np.where((y < 2) & (np.arange(30) % 10 < 2), y, -1)
    system = SpreadThenClassify("knn").fit(X, given)
    np.testing.assert_array_equal(system.reached_, y < 2)
    assert (system.transduction_[y == 2] == 1).all()  # its nearest labelled cloud, not the first class


def test_refuses_an_unknown_second_stage(data):
    X, _, given = data
    with pytest.raises(InvalidInputError, match="second must be one of knn, svm, opf, ml-perc; got 'vgg'"):
        SpreadThenClassify("vgg").fit(X, given)
