"""The quick answer: it obeys new labels, follows the formula, and leaves everything else as it was."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from grande_gnn.labelling.result import Labelling
from grande_gnn.review.full_fit import full_fit
from grande_gnn.review.quick import PENALTY, Basis, QuickAnswer, _principal, answer_of, basis_of


@pytest.fixture
def full(out):
    return Labelling.load(out)


@pytest.fixture
def quick(full):
    return QuickAnswer(full, basis_of(full))


def given_of(full):
    return {row: label for row, label in enumerate(full.given) if label}


def test_without_new_labels_it_is_the_full_answer(full, quick):
    answer = quick.answer(given_of(full))
    assert answer.labels == full.labels
    np.testing.assert_array_equal(answer.confidence, full.confidence)
    assert answer.is_provisional
    assert not answer_of(full).is_provisional


def test_labels_are_obeyed_also_those_of_a_new_class(full, quick):
    other = {**given_of(full), 20: "violet", 30: "red" if full.labels[30] != "red" else "blue"}
    answer = quick.answer(other)
    assert all(answer.labels[row] == label for row, label in other.items())
    assert ((answer.confidence >= 0) & (answer.confidence <= 1)).all()
    assert all(
        a != b for a, b in zip(answer.labels, answer.runner_up, strict=True) if a not in other.values()
    )


def test_a_label_that_is_withdrawn_speaks_no_longer(full, quick):
    given = given_of(full)
    del given[0]
    codes = [
        quick._codes([g.get(row, "") for row in range(36)], quick.classes) for g in (given_of(full), given)
    ]
    everything = np.ones(3, dtype=bool)
    with_it, without = (quick.basis.logits(quick.basis.fit(c, 3), everything) for c in codes)
    own = quick.classes.index(full.given[0])
    assert without[0, own] < with_it[0, own]


@pytest.mark.parametrize(("lost", "instead"), [("blue", "green"), ("green", "red"), ("red", "blue")])
def test_a_class_that_lost_its_labels_is_answered_no_more(full, quick, lost, instead):
    given = {row: instead if label == lost else label for row, label in given_of(full).items()}
    answer = quick.answer(given)
    assert lost in full.labels
    assert lost not in answer.labels
    assert np.isfinite(answer.confidence).all()


def test_it_is_logistic_regression_in_which_all_classes_count_the_same():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(12, 4)).astype(np.float32)
    codes = np.array([0, 1, 2, 0, 0, 1] + [-1] * 6)
    (W,) = Basis((Z,)).fit(codes, 3)
    expected = LogisticRegression(
        C=1 / PENALTY, fit_intercept=False, class_weight="balanced", tol=1e-8, max_iter=1000
    )
    expected.fit(Z[:6], codes[:6])
    p = np.exp(Z @ W)
    np.testing.assert_allclose(p / p.sum(1, keepdims=True), expected.predict_proba(Z), atol=1e-3)


def test_the_start_changes_the_time_and_not_the_solution():
    rng = np.random.default_rng(0)
    basis = Basis((rng.normal(size=(12, 4)).astype(np.float32),))
    codes = np.array([0, 1, 2, 0, 0, 1] + [-1] * 6)
    W = basis.fit(codes, 3)
    np.testing.assert_allclose(basis.fit(codes, 3, W + rng.normal(size=W.shape)), W, atol=0.05)


def test_logits_are_the_mean_over_the_graphs_and_a_class_without_labels_has_none():
    rng = np.random.default_rng(0)
    parts = tuple(rng.normal(size=(5, 4)).astype(np.float32) for _ in range(2))
    W = rng.normal(size=(2, 4, 3))
    F = Basis(parts).logits(W, np.array([True, False, True]))
    mean = ((parts[0] @ W[0] + parts[1] @ W[1]) / 2)[:, [0, 2]]
    np.testing.assert_allclose(F[:, [0, 2]], mean - mean.mean(axis=1, keepdims=True), atol=1e-5)
    assert not F[:, 1].any()


def test_the_answer_is_the_formula(full, quick):
    other = {**given_of(full), 20: "red", 21: "red", 22: "green"}
    now = [other.get(row, "") for row in range(36)]
    everything = np.ones(3, dtype=bool)
    then, after = (
        quick.basis.logits(quick.basis.fit(quick._codes(labels, quick.classes), 3), everything)
        for labels in (full.given, now)
    )
    logs = np.log(np.maximum(full.classifier.label_distributions_, 1e-9))
    logs -= logs.mean(axis=1, keepdims=True)
    slope = np.linalg.lstsq(then.reshape(-1, 1), logs.ravel(), rcond=None)[0][0]
    n_then = sum(map(bool, full.given))
    explained = 1 - np.square(logs - slope * then).sum() / np.square(logs).sum()
    logits = (1 - 3 / (n_then + 3) * explained) * (logs - slope * then) + slope * after
    best = logits.argmax(axis=1)
    expected = [label or quick.classes[c] for label, c in zip(now, best, strict=True)]
    answer = quick.answer(other)
    assert answer.labels == expected
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    changed = [row for row in range(36) if expected[row] != full.labels[row] and not now[row]]
    np.testing.assert_allclose(answer.confidence[changed], (p.max(1) / p.sum(1))[changed], atol=1e-3)


def test_the_basis_has_a_part_for_each_graph_whose_rows_are_alike_in_a_neighborhood(full):
    basis = basis_of(full)
    assert len(basis.parts) == len(full.classifier.committee_.members)
    near = full.neighbors.lists(4)[:, 1:]
    for rows in basis.parts:
        np.testing.assert_allclose(np.square(rows).sum(axis=1).mean(), 1, atol=1e-5)
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        alike = np.einsum("id,ijd->ij", unit, unit[near]).mean()
        assert alike > (unit @ unit.T).mean() + 0.3


def test_many_features_are_reduced_to_their_principal_components():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5)) @ rng.normal(size=(5, 300)) + 7  # five directions hold everything
    kept = _principal(X.astype(np.float32))
    assert kept.shape == (500, 192)
    centered = X - X.mean(axis=0)
    np.testing.assert_allclose(kept @ kept.T, centered @ centered.T, atol=0.05)


def test_it_agrees_with_the_full_training_on_most_images(full, quick):
    truth = ["red", "green", "blue"]
    rows = np.argsort(full.confidence)[:6].tolist()
    labels = given_of(full) | {row: truth[row % 3] for row in rows}
    trained = full_fit(full, {full.files[row]: label for row, label in labels.items()})
    agree = [a == b for a, b in zip(quick.answer(labels).labels, trained.labels, strict=True)]
    stale = [a == b for a, b in zip(full.labels, trained.labels, strict=True)]
    assert np.mean(agree) >= max(0.85, np.mean(stale))
