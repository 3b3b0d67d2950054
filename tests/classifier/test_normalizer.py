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
