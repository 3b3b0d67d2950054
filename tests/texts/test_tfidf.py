"""Features of texts against scikit-learn's own formulas."""

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.texts.tfidf import Tfidf

TEXTS = [
    "the red fox runs",
    "a red fox sleeps",
    "the old house stands",
    "an old house falls",
    "the red house",
]


def test_rows_have_length_one_and_alike_texts_are_close():
    X = Tfidf().features(TEXTS)
    assert X.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
    assert X[0] @ X[1] > X[0] @ X[3]


def test_distances_are_those_of_all_singular_vectors_if_none_is_left_out():
    words = ["fox", "house", "red", "old"]
    texts = [" ".join(words[i] for i in range(4) if code >> i & 1) for code in range(1, 16)] * 2
    few = Tfidf(n_components=3, longest_term=1).features(texts)
    repeated = few[:15] @ few[15:].T
    np.testing.assert_allclose(np.diag(repeated), 1, rtol=1e-5)  # the same text, the same features


def test_new_texts_are_read_with_the_terms_of_the_others():
    alone, both = Tfidf().features(TEXTS), Tfidf().features(TEXTS, ["the red fox runs", "zebra"])
    np.testing.assert_array_equal(both[:5], alone)
    np.testing.assert_allclose(both[5], alone[0], atol=1e-5)
    np.testing.assert_array_equal(both[6], 0)  # no term is known


def test_the_features_repeat():
    np.testing.assert_array_equal(Tfidf().features(TEXTS), Tfidf().features(TEXTS))
    assert Tfidf().identity == Tfidf().identity != Tfidf(n_components=5).identity


@pytest.mark.parametrize("texts", [["one"], ["one", "two"], ["same", "same"], ["a b c"]])
def test_very_few_texts(texts):
    assert np.isfinite(Tfidf().features(texts)).all()


def test_texts_without_words_are_refused():
    with pytest.raises(InvalidInputError, match="needs texts with words in them; got 2 texts"):
        Tfidf().features(["!!", "…"])
