"""A short fit: the refit of a classifier with shorter trainings, which leaves the classifier as it is."""

import numpy as np
import pytest

from grande_gnn import GrandeClassifier
from grande_gnn.classifier.short_fit import SHORTER, short_fit, short_fit_work

EPOCHS, RATE = 40, 0.004


def data(n=60):
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    X = (rng.normal(size=(3, 12))[truth] + rng.normal(scale=0.6, size=(n, 12))).astype(np.float32)
    y = np.where(np.arange(n) < 12, np.array(["red", "green", "blue"])[truth], "")
    return X, y


def fitted(epochs=EPOCHS, lr=RATE, **options):
    X, y = data()
    return GrandeClassifier("sgc", epochs=epochs, lr=lr, device="cpu", random_state=0, **options).fit(X, y)


@pytest.mark.parametrize(
    "options", [{"graph": "auto", "n_neighbors": "auto"}, {"graph": "knn", "n_neighbors": 6}]
)
def test_it_is_the_fit_of_a_classifier_with_shorter_trainings(options):
    clf = fitted(**options)
    other = data()[1].astype("U6")
    other[20:23] = "blue", "red", "violet"  # one class is new
    short = short_fit(clf, other)
    expected = GrandeClassifier(
        "sgc", epochs=EPOCHS // SHORTER, lr=SHORTER * RATE, device="cpu", random_state=0, **options
    ).fit(data()[0], other)
    assert short.classes == expected.classes_.tolist() == ["blue", "green", "red", "violet"]
    np.testing.assert_allclose(short.probabilities, expected.label_distributions_, atol=1e-5)


def test_the_classifier_stays_as_it_is():
    clf = fitted(graph="auto", n_neighbors="auto")
    before = clf.label_distributions_.copy()
    short_fit(clf, np.roll(data()[1], 1))
    np.testing.assert_array_equal(clf.label_distributions_, before)
    assert {m.problem.settings.epochs for m in clf.committee_.members} == {EPOCHS}
    np.testing.assert_allclose(clf.refit(data()[1]).label_distributions_, before, atol=1e-6)


def test_work_grows_with_samples_members_and_the_hidden_layer():
    one, several = fitted(graph="knn"), fitted(graph="auto")
    assert short_fit_work(one) == 60 * 12 * 3 * EPOCHS / SHORTER
    assert short_fit_work(several) == len(several.committee_.members) * short_fit_work(one)
    X, y = data()
    wide = GrandeClassifier("appnp", graph="knn", epochs=2, hidden=30, device="cpu", random_state=0).fit(X, y)
    assert short_fit_work(wide) == 60 * 12 * 30 * 2 / SHORTER
