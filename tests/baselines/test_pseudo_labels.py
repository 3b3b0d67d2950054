import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.semi_supervised import SelfTrainingClassifier

from grande_gnn.baselines.pseudo_labels import PseudoLabels


def clouds(n=60):
    rng = np.random.default_rng(1)
    y = np.arange(n) % 3
    X = (rng.normal(size=(3, 5)) * 2)[y] + rng.normal(size=(n, 5))
    return X.astype(np.float32), np.where(np.arange(n) < 12, y, -1)


def test_is_scikit_learns():
    X, given = clouds()
    linear = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=1000, random_state=5)
    expected = SelfTrainingClassifier(linear).fit(X, given).predict(X)
    ours = PseudoLabels(max_iter=1000, random_state=5).fit(X, given)
    np.testing.assert_array_equal(ours.transduction_, expected)


def test_is_the_loop_it_says():
    X, given = clouds(30)
    linear = SGDClassifier(loss="log_loss", alpha=1e-3, max_iter=1000, random_state=2)
    labels = given.copy()
    for _ in range(3):
        known = labels >= 0
        probability = linear.fit(X[known], labels[known]).predict_proba(X)
        sure = ~known & (probability.max(axis=1) > 0.75)
        labels[sure] = probability.argmax(axis=1)[sure]
        if not sure.any():
            break
    expected = linear.fit(X[labels >= 0], labels[labels >= 0]).predict(X)
    ours = PseudoLabels(rounds=3, alpha=1e-3, max_iter=1000, random_state=2).fit(X, given)
    np.testing.assert_array_equal(ours.transduction_, expected)


def test_the_documented_defaults():
    assert PseudoLabels().get_params() == {
        "threshold": 0.75, "rounds": 10, "alpha": 1e-5, "max_iter": 20, "random_state": None
    }  # fmt: skip
