"""The registry of extractors of texts."""

import subprocess
import sys

import numpy as np

from grande_gnn.texts import TEXT_EXTRACTORS, load_text_extractor


def test_tfidf_is_the_default():
    assert load_text_extractor().identity == load_text_extractor("tfidf").identity
    assert load_text_extractor().learns


def test_a_registered_extractor_is_found(monkeypatch):
    class Length:
        identity, learns = "length", False

        def features(self, texts, new=(), progress=None):
            return np.array([[len(text)] for text in [*texts, *new]], dtype=np.float32)

    monkeypatch.setitem(TEXT_EXTRACTORS, "length", lambda name: Length())
    assert load_text_extractor("length").features(["ab", "c"]).tolist() == [[2.0], [1.0]]


def test_reading_the_names_imports_neither_torch_nor_scikit_learn():
    code = (
        "import sys; from grande_gnn.texts import TEXT_EXTRACTORS; "
        "sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
