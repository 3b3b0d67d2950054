"""Models of sentence-transformers: used where they are installed, refused in one sentence where not."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from grande_gnn.errors import InvalidInputError, MissingDependencyError
from grande_gnn.texts.sentence_models import SentenceModel


class Fake:
    """Answers like ``SentenceTransformer``: the features of a text are its letters."""

    def __init__(self, name, trust_remote_code):
        assert not trust_remote_code
        if name == "absent":
            raise OSError("no such model\nanywhere")
        self.weight = torch.tensor([float(len(name))])

    def state_dict(self):
        return {"weight": self.weight}

    def encode(self, texts, **options):
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float64)


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Fake))


def test_texts_become_rows_in_portions(installed):
    seen = []
    texts = ["a" * (i % 5) + "b" for i in range(600)]
    X = SentenceModel("tiny").features(texts, ["c"], progress=lambda done, total: seen.append((done, total)))
    assert X.shape == (601, 3)
    assert X[4].tolist() == [4, 1, 0]
    assert X[-1].tolist() == [0, 0, 1]
    assert seen == [(256, 601), (512, 601), (601, 601)]


def test_the_identity_depends_on_name_and_weights(installed):
    assert SentenceModel("tiny").identity == SentenceModel("tiny").identity
    assert SentenceModel("tiny").identity.split("-")[-1] != SentenceModel("large").identity.split("-")[-1]
    assert "/" not in SentenceModel("folder/of a/model").identity


def test_a_model_that_is_not_there(installed):
    with pytest.raises(InvalidInputError, match=r"must be tfidf, .*; got 'absent': no such model anywhere"):
        SentenceModel("absent")


def test_without_the_package_the_pip_line_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "grande-gnn\[text\]"'):
        SentenceModel("all-MiniLM-L6-v2")
