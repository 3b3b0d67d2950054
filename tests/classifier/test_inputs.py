"""The estimator takes sparse features, small and large ones, in every method."""

import numpy as np
import pytest
import scipy.sparse as sp

from grande_gnn import GrandeClassifier
from grande_gnn.classifier import reduction
from grande_gnn.errors import InvalidInputError

FAST = {"n_neighbors": 6, "hidden": 16, "epochs": 60, "lr": 0.02, "device": "cpu", "random_state": 0}


@pytest.fixture
def bags():
    """Bags of words of three subjects, each with words of its own and some that all share."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    rates = np.full((60, 40), 0.1)
    for i in range(60):
        rates[i, 10 * y[i] : 10 * y[i] + 10] = 1.0
    X = rng.poisson(rates).astype(np.float32)
    return X, y, np.where(np.arange(60) < 12, y, -1)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array])
def test_small_sparse_features_give_what_dense_ones_give(bags, form):
    X, _, few = bags
    dense, sparse = GrandeClassifier(**FAST).fit(X, few), GrandeClassifier(**FAST).fit(form(X), few)
    np.testing.assert_array_equal(sparse.label_distributions_, dense.label_distributions_)
    np.testing.assert_array_equal(sparse.predict_proba(form(X[:5])), dense.predict_proba(X[:5]))
    assert sparse.n_features_in_ == 40


def test_features_are_copied_unless_the_caller_gives_them_away(bags):
    X, _, few = bags
    X[0] = -0.0
    kept = GrandeClassifier(**FAST).fit(X, few)
    assert not np.shares_memory(kept.features_, X)
    assert np.signbit(X[0]).all()
    given = GrandeClassifier(**FAST).fit(X, few, copy=False)
    assert np.shares_memory(given.features_, X)
    assert not np.signbit(X).any()
    np.testing.assert_array_equal(given.label_distributions_, kept.label_distributions_)


def test_features_that_cannot_be_written_are_copied_anyway(bags, tmp_path):
    X, _, few = bags
    expected = GrandeClassifier(**FAST).fit(X, few)
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    clf = GrandeClassifier(**FAST).fit(mapped, few, copy=False)
    np.testing.assert_array_equal(clf.label_distributions_, expected.label_distributions_)
    assert not np.shares_memory(clf.features_, mapped)


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(reduction, "DENSE_BYTES", 100)
    monkeypatch.setattr(reduction, "N_COMPONENTS", 8)


def test_large_sparse_features_are_reduced_predicted_and_saved(bags, large, tmp_path):
    X, y, few = bags
    clf = GrandeClassifier(**FAST).fit(sp.csr_matrix(X), few)
    assert clf.features_.shape == (60, 8)
    assert clf.n_features_in_ == 40
    assert np.mean(clf.transduction_ == y) > 0.9
    np.testing.assert_array_equal(clf.predict(sp.csr_matrix(X)), clf.transduction_)
    np.testing.assert_array_equal(clf.predict(X), clf.transduction_)  # dense rows of the same features
    clf.save(tmp_path / "model")
    again = GrandeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_proba(sp.csr_matrix(X[:7])), clf.predict_proba(sp.csr_matrix(X[:7]))
    )
    assert again.n_features_in_ == 40
    np.testing.assert_array_equal(clf.refit(few).predict(sp.csr_matrix(X)), clf.transduction_)
    with pytest.raises(InvalidInputError, match="must have 40 features"):
        clf.predict(sp.csr_matrix(X[:, :30]))
    with pytest.raises(InvalidInputError, match="cannot be combined"):
        GrandeClassifier(**FAST, context=X[:3]).fit(sp.csr_matrix(X), few)


def test_a_dense_fit_after_a_sparse_one_forgets_the_reduction(bags, large):
    X, _, few = bags
    clf = GrandeClassifier(**FAST).fit(sp.csr_matrix(X), few).fit(X, few)
    assert clf.reduction_ is None
    assert clf.features_.shape == (60, 40)


def test_the_fitted_rows_are_a_copy_without_negative_zeros(bags):
    X, _, few = bags
    X = np.where(X == 0, np.float32(-0.0), X)
    features = GrandeClassifier("sgc", **FAST).fit(X, few).features_
    assert not np.signbit(features).any()
    assert not np.shares_memory(features, X)


def test_what_is_behind_a_mask_is_never_used(bags):
    X, y, _ = bags
    with pytest.raises(InvalidInputError, match=r"X must not be masked.*got 1 masked"):
        GrandeClassifier(**FAST).fit(np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) == 3), y)
    GrandeClassifier(**{**FAST, "epochs": 1}).fit(np.ma.masked_array(X), y)  # nothing is masked
