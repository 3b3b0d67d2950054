"""The quick answer: it obeys new labels, follows the formula, and leaves everything else as it was."""

import numpy as np
import pytest

from grande_gnn.labelling.result import Labelling
from grande_gnn.review.full_fit import full_fit
from grande_gnn.review.quick import RIDGE, STRENGTH, Basis, QuickAnswer, _principal, answer_of, basis_of


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
    with_it, without = (quick.basis.scores(c, 3) for c in codes)
    own = quick.classes.index(full.given[0])
    assert without[0, own] < with_it[0, own]


def test_scores_are_the_ridge_regression_of_the_labelled_rows():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(12, 4)).astype(np.float32)
    codes = np.array([0, 1, 2, 0, 1] + [-1] * 7)
    target = np.eye(3)[codes[:5]] - 1 / 3
    # The dual form of the same regression.
    K = Z[:5] @ Z[:5].T
    expected = Z @ Z[:5].T @ np.linalg.solve(K + RIDGE * np.eye(5), target)
    np.testing.assert_allclose(Basis(Z).scores(codes, 3), expected, atol=1e-5)


def test_the_answer_is_the_formula(full, quick):
    other = {**given_of(full), 20: "red", 21: "red", 22: "green"}
    now = [other.get(row, "") for row in range(36)]
    before, after = (
        quick.basis.scores(quick._codes(labels, quick.classes), 3) for labels in (full.given, now)
    )
    logs = np.log(np.maximum(full.classifier.label_distributions_, 1e-9))
    R, L = before - before.mean(1, keepdims=True), logs - logs.mean(1, keepdims=True)
    slope = np.linalg.lstsq(R.reshape(-1, 1), L.ravel(), rcond=None)[0][0]
    best = (logs + STRENGTH * slope * (after - before)).argmax(axis=1)
    expected = [label or quick.classes[c] for label, c in zip(now, best, strict=True)]
    assert quick.answer(other).labels == expected


def test_the_basis_has_rows_of_length_one_that_are_alike_in_a_neighborhood(full):
    basis = basis_of(full)
    np.testing.assert_allclose(np.linalg.norm(basis.rows, axis=1), 1, atol=1e-5)
    near = full.neighbors.lists(4)[:, 1:]
    alike = np.einsum("id,ijd->ij", basis.rows, basis.rows[near]).mean()
    assert alike > (basis.rows @ basis.rows.T).mean() + 0.3


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
