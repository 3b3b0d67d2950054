"""Texts: read them from a table, from lines of JSON or from files, and turn them into features.

>>> from grande_gnn.texts import load_text_extractor, read_texts
>>> texts = read_texts("texts.csv", ["body"])                                   # doctest: +SKIP
>>> features = load_text_extractor("tfidf").features(texts.texts)               # doctest: +SKIP

Names are imported when they are first used, so that reading the registry of extractors costs nothing.
"""

from typing import TYPE_CHECKING

from grande_gnn.internal.lazy import lazy_names

if TYPE_CHECKING:
    from grande_gnn.texts.embedders import TEXT_EXTRACTORS, TextExtractor, load_text_extractor
    from grande_gnn.texts.text_set import TextSet, are_texts, read_texts

__all__ = ["TEXT_EXTRACTORS", "TextExtractor", "TextSet", "are_texts", "load_text_extractor", "read_texts"]

_HOMES = {
    "TEXT_EXTRACTORS": "embedders", "TextExtractor": "embedders", "load_text_extractor": "embedders",
    "TextSet": "text_set", "are_texts": "text_set", "read_texts": "text_set",
}  # fmt: skip

__getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
