"""Other labels for a trained committee: exact for a linear model, and nothing changes if no label does."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from grande_gnn import GrandeClassifier
from grande_gnn.classifier.graph_free import GraphFree
from grande_gnn.labelling.other_labels import Labels, OtherLabels, Part, penalty, principal_components

THEN = np.array([0, 1, 2, 0, 1, 2, 0, -1, -1, -1, -1, -1])
NOW = np.array([0, 1, 2, 0, -1, 2, 1, 2, 0, -1, -1, -1])
"""A label less, a label changed and two new ones."""


def labels(codes, n_classes=3, weights=None):
    weights = (codes >= 0) * (np.ones(len(codes)) if weights is None else weights)
    return Labels(codes, weights, np.isin(np.arange(n_classes), codes))


def optimum(features, known, strength):
    """The linear model that minimizes L + λ/2 ‖W‖², from 0."""
    shape = features.shape[1], len(known.known)

    def cost(flat):
        W = flat.reshape(shape)
        value = known.loss(features @ W) + strength / 2 * (W * W).sum()
        return value, (features.T @ known.residuals(features @ W) + strength * W).ravel()

    start = np.zeros(shape).ravel()
    return minimize(cost, start, jac=True, options={"gtol": 1e-9}).x.reshape(shape)


@pytest.fixture
def features():
    Z = np.random.default_rng(0).normal(size=(12, 4))
    return Z / np.sqrt(np.square(Z).sum(axis=1).mean())


@pytest.mark.parametrize("strength", [0.03, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_model_is_answered_exactly(features, strength, weighted):
    w = np.random.default_rng(1).uniform(0.5, 2, 12) if weighted else None
    then, now = labels(THEN, weights=w), labels(NOW, weights=w)
    Z = features @ optimum(features, then, strength)
    assert penalty(features, Z, then) == pytest.approx(strength, rel=1e-3)
    found = Part.of(Z, features, 1.0, 1.0).with_labels(then, now)
    np.testing.assert_allclose(found, features @ optimum(features, now, strength), atol=2e-2)


def test_without_a_change_nothing_changes_whatever_the_model(features):
    Z = np.random.default_rng(2).normal(size=(12, 3)).astype(np.float32)
    Z[np.arange(12), THEN] += 3  # it knows its labels
    part = Part.of(Z, features, 1.0, 1.0)
    np.testing.assert_allclose(part.with_labels(labels(THEN), labels(THEN)), part.logits, atol=1e-4)


def test_the_loss_has_the_residuals_as_its_gradient(features):
    Z = np.random.default_rng(3).normal(size=(12, 4))
    known = labels(np.where(THEN == 1, 3, THEN), 4, np.linspace(1, 2, 12))
    step = np.random.default_rng(4).normal(size=Z.shape)
    slope = (known.loss(Z + 1e-5 * step) - known.loss(Z - 1e-5 * step)) / 2e-5
    assert slope == pytest.approx((known.residuals(Z) * step).sum(), rel=1e-4)
    assert not known.residuals(Z)[:, 1].any()  # a class without labels


def test_a_training_that_says_nothing_about_its_labels_is_not_changed(features):
    Z = np.zeros((12, 3))
    Z[np.arange(12), THEN] = -1  # each label is the least likely class
    part = Part.of(Z, np.eye(12), 1.0, 1.0)
    assert np.isinf(penalty(np.eye(12), part.logits.astype(float), labels(THEN)))
    np.testing.assert_array_equal(part.with_labels(labels(THEN), labels(NOW)), part.logits)


def test_a_new_class_wins_at_its_label_and_loses_at_the_others():
    then = labels(THEN, 4)
    wide = np.random.default_rng(5).normal(size=(12, 40)) / np.sqrt(40)  # nearly orthogonal rows
    Z = wide @ optimum(wide, labels(THEN), 0.03)
    now = labels(np.where(np.arange(12) == 9, 3, THEN), 4)
    found = Part.of(Z, wide, 1.0, 1.0).with_labels(then, now)
    assert found.shape == (12, 4)
    assert found[9].argmax() == 3
    assert (found[THEN >= 0].argmax(axis=1) != 3).all()
    assert (found[THEN >= 0][:, 3] < 0).all()


# -- a whole classifier ----------------------------------------------------------------------------------


@pytest.fixture(params=["sgc", "appnp", "gcn"])
def fitted(request, groups):
    X, codes, given = groups(known=9)  # too few labels to try a member without a graph
    settings = {"graph": "auto", "n_neighbors": 8, "epochs": 15, "lr": 0.05, "device": "cpu", "hidden": 8}
    classifier = GrandeClassifier(request.param, **settings).fit(X, given)
    return classifier, np.where(np.arange(90) < 9, codes, -1), codes


def test_with_the_labels_of_the_training_it_is_the_training(fitted):
    classifier, then, _ = fitted
    other = OtherLabels(classifier, principal_components(classifier))
    assert len(other.parts) == len(classifier.committee_.members) > 1
    np.testing.assert_allclose(other.probabilities(then, then, 3), classifier.label_distributions_, atol=2e-4)


def test_new_labels_speak_and_classes_without_labels_do_not(fitted):
    classifier, then, codes = fitted
    other = OtherLabels(classifier, principal_components(classifier))
    now = np.where((codes == 0) & (np.arange(90) < 75), 3, then)  # class 0 gets another name and more labels
    p = other.probabilities(then, now, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    assert not p[:, 0].any()
    assert np.mean(p.argmax(axis=1)[75:] == np.where(codes == 0, 3, codes)[75:]) > 0.7


def test_a_member_without_a_graph_takes_part(fitted):
    classifier, then, _ = fitted
    linear = GraphFree.train(classifier.problem_.inputs, then, np.ones(90), 3, weight=0.5)
    members = tuple(replace(m, weight=m.weight / 2) for m in classifier.committee_.members)
    classifier.committee_ = replace(classifier.committee_, members=members, graph_free=linear)
    other = OtherLabels(classifier, principal_components(classifier))
    expected = classifier.label_distributions_ / 2 + linear.probabilities(classifier.problem_.inputs) / 2
    np.testing.assert_allclose(other.probabilities(then, then, 3), expected, atol=2e-4)
    assert other.parts[-1].weight == 0.5
    components, own = principal_components(classifier), other.parts[-1].features
    np.testing.assert_allclose(own * np.linalg.norm(components) / np.linalg.norm(own), components, atol=1e-4)


def test_a_label_counts_as_in_the_training_and_a_corrected_one_fully(fitted):
    classifier, then, _ = fitted
    other = OtherLabels(classifier, principal_components(classifier))
    other.trust = np.where(np.arange(90) == 3, 0.1, 1.0)
    assert other._labels(then, then, 3).weights[3] < 0.2 * other._labels(then, then, 3).weights[0]
    now = np.where(np.arange(90) == 3, 1, then)
    weights = other._labels(now, then, 3).weights
    assert (
        weights[3] == weights[1] < weights[0]
    )  # class 1 has a label more than the others, class 0 a label less
    assert not weights[9:].any()
    other.is_automatic = False
    assert set(other._labels(now, then, 3).weights) == {0.0, 1.0}


def test_many_features_are_reduced_to_their_principal_components():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(120, 5)) @ rng.normal(size=(5, 300)) + 7).astype(np.float32)  # five directions
    given = [("a", "b")[i % 2] if i < 20 else "" for i in range(120)]
    classifier = GrandeClassifier("sgc", graph="knn", n_neighbors=8, epochs=2, device="cpu").fit(X, given)
    kept = principal_components(classifier)
    assert kept.shape == (120, 192)
    centered = X - X.mean(axis=0)
    np.testing.assert_allclose(kept @ kept.T, centered @ centered.T, atol=0.2)
