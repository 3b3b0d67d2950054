"""Sparse features: exactly the dense ones where these are small, singular vectors where they are not."""

import numpy as np
import pytest
import scipy.sparse as sp

from grande_gnn.classifier import reduction
from grande_gnn.classifier.reduction import Reduction
from grande_gnn.errors import InvalidInputError, NotEnoughMemoryError


@pytest.fixture
def words():
    return sp.random(40, 30, density=0.2, random_state=0, dtype=np.float64, format="coo")


def test_small_features_become_dense_as_they_are(words):
    made = Reduction.fit(words)
    assert made.components is None
    np.testing.assert_array_equal(made.transform(words), words.toarray().astype(np.float32))


def test_large_features_keep_the_distances_that_their_rank_allows(words, monkeypatch):
    monkeypatch.setattr(reduction, "DENSE_BYTES", 100)
    low_rank = sp.csr_matrix(np.outer(np.arange(40), np.ones(30)) + np.outer(np.ones(40), np.arange(30)))
    made = Reduction.fit(low_rank)
    assert made.components.shape == (29, 30)
    X, Z = low_rank.toarray(), made.transform(low_rank)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, rtol=1e-3)  # rank 2: nothing is lost
    with pytest.raises(InvalidInputError, match="must have 30 features, as in fitting; got 29"):
        made.transform(low_rank[:, :29])


def test_what_is_no_number_is_refused():
    with pytest.raises(InvalidInputError, match="X must be finite"):
        Reduction.fit(sp.csr_matrix([[np.inf]]))


def test_more_columns_than_memory_are_refused_in_one_sentence(words, monkeypatch):
    def fit(*_):
        raise MemoryError("Unable to allocate 552. GiB")

    monkeypatch.setattr(reduction, "DENSE_BYTES", 100)
    monkeypatch.setattr("sklearn.decomposition.TruncatedSVD.fit", fit)
    with pytest.raises(NotEnoughMemoryError, match=r"so many columns.*got 30 columns \(Unable to allocate"):
        Reduction.fit(words)
