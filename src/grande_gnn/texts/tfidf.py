"""TF-IDF and truncated SVD, known as latent semantic analysis (Deerwester et al., 1990): features without any weights.

    tf-idf(t, d) = (1 + ln tf(t, d)) · (1 + ln((1 + n)/(1 + df(t)))),    features = tf-idf · V_k,    rows of length 1

Terms are words that occur in at least two texts. V_k are the first k right singular vectors.
The weight of a term depends on all texts, so the features are learned again for each set of texts, which takes seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError

__all__ = ["Tfidf"]


class Tfidf:
    """The extractor ``tfidf``.

    >>> features = Tfidf(n_components=2).features(["a red fox", "the red fox", "an old house", "the old house"])
    >>> features.shape, bool(features[0] @ features[1] > features[0] @ features[2])
    ((4, 2), True)
    """

    learns = True

    def __init__(self, n_components: int = 256, max_terms: int = 50_000, longest_term: int = 1) -> None:
        self.n_components = n_components  # what latent semantic analysis usually takes: 100 to 300
        self.max_terms = max_terms  # the most frequent ones; more cost memory and change little
        self.longest_term = (
            longest_term  # words per term; with pairs of words, fewer neighbors on AG News share a class
        )
        settings = repr((1, n_components, max_terms, longest_term)).encode()
        self.identity = f"tfidf-{hashlib.blake2b(settings, digest_size=6).hexdigest()}"

    def features(
        self,
        texts: Sequence[str],
        new: Sequence[str] = (),
        progress: Callable[[int, int], object] | None = None,
    ) -> NDArray[np.float32]:
        """One row per text; terms and vectors are learned from ``texts``."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.preprocessing import normalize

        for least in (2, 1):  # very few texts may have no term in common
            vectorizer = TfidfVectorizer(
                sublinear_tf=True, min_df=least, max_features=self.max_terms, ngram_range=(1, self.longest_term),
                token_pattern=r"(?u)\b\w+\b", dtype=np.float32,
            )  # fmt: skip
            try:
                counts = vectorizer.fit_transform(texts)
                break
            except ValueError as error:  # an empty vocabulary, or no term that is frequent enough
                reason = error
        else:
            raise InvalidInputError(
                f"tfidf needs texts with words in them; got {len(texts)} texts without any ({reason})"
            )
        rows = vectorizer.transform(new) if len(new) else None
        k = min(self.n_components, min(counts.shape) - 1)
        if k < 1:  # one text or one term: nothing to reduce
            learned, others = counts.toarray(), None if rows is None else rows.toarray()
        else:
            svd = TruncatedSVD(k, random_state=0)
            learned = svd.fit_transform(counts)
            others = None if rows is None else svd.transform(rows)
        stacked = learned if others is None else np.concatenate([learned, others])
        return normalize(stacked).astype(np.float32)
