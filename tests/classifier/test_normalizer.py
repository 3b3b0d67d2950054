"""Feature normalisation by its formulas, with statistics that new samples reuse."""

import numpy as np
import pytest

from grande_gnn.classifier.normalizer import NORMALIZATIONS, Normalizer
from grande_gnn.errors import InvalidInputError

X = (np.random.default_rng(0).normal(size=(20, 4)) + 3).astype(np.float32)
FORMULAS = {
    "none": lambda x, fitted: x,
    "l2": lambda x, fitted: x / np.linalg.norm(x) * np.linalg.norm(fitted, axis=1).mean(),
    "center-l2": lambda x, fitted: (
        (x - fitted.mean(0)) / np.linalg.norm(x - fitted.mean(0)) * np.sqrt(fitted.shape[1])
    ),
}


def test_every_name_is_tested():
    assert set(FORMULAS) == set(NORMALIZATIONS)


@pytest.mark.parametrize("how", NORMALIZATIONS)
def test_equals_the_formula_on_old_and_new_rows(how):
    normalizer = Normalizer.fit(X, how)
    new = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    for rows in (X, new):
        expected = [FORMULAS[how](x.astype(np.float64), X.astype(np.float64)) for x in rows]
        got = normalizer.transform(rows)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", NORMALIZATIONS)
def test_each_row_on_its_own(how):
    normalizer = Normalizer.fit(X, how)
    np.testing.assert_array_equal(normalizer.transform(X)[7:8], normalizer.transform(X[7:8]))


def test_row_lengths():
    length = np.linalg.norm(X, axis=1).mean()
    np.testing.assert_allclose(
        np.linalg.norm(Normalizer.fit(X, "l2").transform(X), axis=1), length, rtol=1e-6
    )
    got = np.linalg.norm(Normalizer.fit(X, "center-l2").transform(X), axis=1)
    np.testing.assert_allclose(got, 2.0, rtol=1e-6)  # √4


@pytest.mark.parametrize("how", ["l2", "center-l2"])
@pytest.mark.parametrize("X", [np.zeros((3, 2)), np.ones((3, 2)), np.array([[0.0, 0.0], [2.0, 2.0]])])
def test_a_row_at_the_centre_stays_finite(how, X):
    rows = X.astype(np.float32)
    got = Normalizer.fit(rows, how).transform(rows)
    assert np.isfinite(got).all()
    if not rows[0].any():
        np.testing.assert_array_equal(Normalizer.fit(rows, "l2").transform(rows)[0], 0)


@pytest.mark.parametrize("how", ["zscore", None, 2])
def test_refuses_an_unknown_name(how):
    with pytest.raises(InvalidInputError, match="normalize must be one of none, l2, center-l2; got"):
        Normalizer.fit(X, how)


@pytest.mark.parametrize("length", [1e6, 1e20, 1e37])
@pytest.mark.parametrize("how", ["l2", "center-l2"])
def test_one_damaged_row_does_not_move_the_others(how, length):
    many = (np.random.default_rng(2).normal(size=(400, 4)) + 3).astype(np.float32)
    damaged = many.copy()
    damaged[7] = length * np.array([1, -1, 1, 1])
    plain, other = Normalizer.fit(many, how), Normalizer.fit(damaged, how)
    np.testing.assert_allclose(other.center, plain.center, atol=1.5)  # one of 400 rows counts 100 times
    assert other.length == pytest.approx(plain.length, rel=0.3)
    assert np.isfinite(other.transform(damaged)).all()


def test_rows_of_ordinary_lengths_all_count():
    rows = X * np.linspace(0.1, 5, 20, dtype=np.float32)[:, None]
    assert (
        Normalizer.fit(rows, "center-l2").center.tolist()
        == rows.mean(axis=0, dtype=np.float64).astype(np.float32).tolist()
    )
    mostly_zero = np.zeros((9, 2), np.float32)
    mostly_zero[3] = [3, 6]
    np.testing.assert_allclose(Normalizer.fit(mostly_zero, "center-l2").center, [1 / 3, 2 / 3])
