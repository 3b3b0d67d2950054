"""SGC with degree centrality: features diffused once, then logistic regression on the labelled rows."""

import numpy as np

from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.cpu.precomputed import Precomputed


def test_it_equals_autograd_of_the_definition(problem, built, plain, assert_gradients_equal):
    settings = Settings(model="sgc", device="cpu")
    other = np.where(np.arange(40) >= 22, np.arange(40) % 3, -1)
    relabelled = np.where(problem.labels >= 0, (problem.labels + 1) % 3, -1)  # same rows, other classes
    replicas = [
        Replica(labels, "centrality", r, f)
        for r in range(2) for f, labels in enumerate((problem.labels, other, relabelled))
    ]  # fmt: skip
    model = built(replicas, settings)
    assert isinstance(model, Precomputed)
    Z, _, degree = model.evaluate()
    for r, replica in enumerate(replicas):
        one = plain.start(problem.X, problem.graph, replica, problem.c, settings)
        np.testing.assert_allclose(Z[r], one.logits().detach(), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(degree, np.tile(problem.graph.degree, (6, 1)))
    assert_gradients_equal(replicas, settings)


def test_the_features_stay_as_they_are(problem, built):
    before = problem.X.copy()
    built([Replica(problem.labels, "centrality")], Settings(model="sgc", n_hops=5)).evaluate()
    np.testing.assert_array_equal(problem.X, before)
