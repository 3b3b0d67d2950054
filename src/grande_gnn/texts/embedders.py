"""The extractors of texts by name. A new one is a file with a class, and one line here.

Nothing is imported until an extractor is loaded, so that the command line can list the names at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DEFAULT_TEXT", "TEXT_EXTRACTORS", "TextExtractor", "load_text_extractor"]


class TextExtractor(Protocol):
    """Turns texts into features."""

    identity: str
    """Names the extractor, its settings and weights: equal identities give equal features."""
    learns: bool
    """Whether the features of a text depend on the other texts; otherwise they are kept in the feature store."""

    def features(
        self,
        texts: Sequence[str],
        new: Sequence[str] = (),
        progress: Callable[[int, int], object] | None = None,
    ) -> NDArray[np.float32]:
        """One row per text, first of ``texts`` and then of ``new``; an extractor that learns uses ``texts`` alone for
        that."""


Builder = Callable[[str], TextExtractor]
"""Makes an extractor from its name."""


def _tfidf(name: str) -> TextExtractor:
    return import_module("grande_gnn.texts.tfidf").Tfidf()


def _sentence_model(name: str) -> TextExtractor:
    return import_module("grande_gnn.texts.sentence_models").SentenceModel(name)


TEXT_EXTRACTORS: dict[str, Builder] = {"tfidf": _tfidf}
"""Builders by name. Add your own: a callable ``name -> TextExtractor``."""

DEFAULT_TEXT = "tfidf"
"""The extractor that needs neither weights nor the internet."""


def load_text_extractor(name: str | None = None) -> TextExtractor:
    """The extractor ``name``: a key of ``TEXT_EXTRACTORS``, or the name or folder of a sentence-transformers model."""
    wanted = name or DEFAULT_TEXT
    return TEXT_EXTRACTORS.get(wanted, _sentence_model)(wanted)
