"""Every network of the package keeps the classifier's promises, with both degrees."""

import numpy as np
import pytest

from grande_gnn import GrandeClassifier
from grande_gnn.engine.models import MODELS

NETWORKS = pytest.mark.parametrize("model", [name for name, m in MODELS.items() if not m.is_diffusion])
DEGREES = pytest.mark.parametrize("degree", ["grande", "centrality"])


@pytest.fixture(scope="module")
def clouds():
    """Three clouds of points, far apart, two labels in each."""
    rng = np.random.default_rng(0)
    y = np.arange(3).repeat(12)
    X = (rng.normal(size=(36, 6)) * 0.2 + np.eye(3, 6)[y] * 4).astype(np.float32)
    return X, y, np.where(np.arange(36) % 12 < 2, y, -1)


def classifier(model, degree="grande"):
    return GrandeClassifier(
        model, degree, n_neighbors=12, hidden=16, epochs=60, lr=0.02, device="cpu", random_state=1
    )


@NETWORKS
@DEGREES
def test_it_labels_clouds_and_new_points(clouds, model, degree):
    X, y, few = clouds
    clf = classifier(model, degree).fit(X, few)
    assert (clf.transduction_ == y).mean() > 0.95
    assert (clf.predict(X + np.float32(0.05)) == y).mean() > 0.9
    assert (clf.degree_ > 0).all()


@NETWORKS
def test_the_degree_matters_and_the_seed_repeats(clouds, model):
    X, _, few = clouds
    ours, again, plain = (
        classifier(model, degree).fit(X, few).label_distributions_
        for degree in ("grande", "grande", "centrality")
    )
    np.testing.assert_array_equal(ours, again)
    assert np.abs(ours - plain).max() > 1e-4


@NETWORKS
def test_it_is_saved_by_name(clouds, model, tmp_path):
    X, _, few = clouds
    clf = classifier(model).fit(X, few)
    clf.save(tmp_path / "model")
    loaded = GrandeClassifier.load(tmp_path / "model")
    new = X[:5] + np.float32(0.1)
    np.testing.assert_allclose(loaded.predict_proba(new), clf.predict_proba(new), atol=1e-6)
