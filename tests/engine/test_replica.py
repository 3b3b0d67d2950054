"""What to train: the authors' defaults, and one sentence for what cannot be trained."""

import math

import numpy as np
import pytest
import torch

from grande_gnn.degree import Centrality, Custom, Grande
from grande_gnn.engine import MODELS, Replica, Settings
from grande_gnn.engine.models import APPNP, PlainModel
from grande_gnn.errors import InvalidInputError

LABELS = np.array([0, 1, -1])


def test_the_defaults_are_the_authors():
    settings = Settings()
    assert (settings.model, settings.hops, settings.teleport, settings.drop) == ("appnp", 10, 0.1, 0.5)
    assert (settings.epochs, settings.lr, settings.weight_decay, settings.detach) == (200, 1e-3, 5e-4, False)
    replica = Replica(LABELS)
    assert (replica.degree, replica.hidden) == (Grande(0.2), 256)


def test_the_encodings_of_version_0_1_become_degree_objects():
    function = lambda h, graph: h[:, 0].exp()  # noqa: E731
    given = [0.5, "centrality", function, Grande(0.1), "grande"]
    expected = [Grande(0.5), Centrality(), Custom(function), Grande(0.1), Grande(0.2)]
    assert [Replica(LABELS, degree).degree for degree in given] == expected


def test_the_model_is_a_name_or_an_object():
    assert Settings(model="sgc").kind is MODELS["sgc"]
    assert Settings(model=MODELS["sgc"]).kind is MODELS["sgc"]
    assert Settings(model=APPNP(n_hops=4)).hops == 4
    assert Settings(model=torch.nn.Linear).kind == PlainModel("Linear", torch.nn.Linear)


def test_only_sgc_with_a_degree_that_ignores_the_output_diffuses_the_features_once():
    for model, degree, once in [
        ("sgc", "centrality", True),
        ("sgc", 0.2, False),
        ("appnp", "centrality", False),
    ]:
        assert Replica(LABELS, degree).precomputes(Settings(model=model)) == once


def test_sgc_has_two_hops_no_return_and_no_dropout():
    settings = Settings(model="sgc", alpha=0.3, dropout=0.7)
    assert (settings.hops, settings.teleport, settings.drop) == (2, 0.0, 0.0)


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_hops_may_be_chosen_even_none(model):
    assert Settings(model=model, n_hops=0).hops == 0
    assert Settings(model=model, n_hops=7).hops == 7


@pytest.mark.parametrize(
    ("field", "values"),
    {
        "model": ["gin", None],
        "n_hops": [-1, 2.0, "2"],
        "alpha": [-0.1, 1.1, math.nan, None],
        "dropout": [-0.1, 1.0, math.nan, "half"],
        "weight_decay": [-1e-4, math.inf],
        "epochs": [-1, 1.5],
        "lr": [0.0, -1e-3, math.inf, math.nan],
        "device": ["gpu", None, 0],
        "precision": ["double", None],
        "memory_limit": [0, 1.5, "1GB"],
        "seed": [-1, None, 0.5],
    }.items(),
)
def test_refuses_settings(field, values):
    for value in values:
        with pytest.raises(InvalidInputError, match=rf"^{field} must be .*; got"):
            Settings(**{field: value})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"degree": "gaussian"}, "degree must be one of grande, centrality; got 'gaussian'"),
        ({"degree": 0.0}, "sigma must be a positive number"),
        ({"degree": None}, "sigma must be a positive number"),
        ({"hidden": 0}, "hidden must be an integer of at least 1; got 0"),
        ({"repetition": -1}, "repetition must be an integer of at least 0; got -1"),
        ({"fold": 0.5}, "fold must be an integer of at least 0; got 0.5"),
    ],
)
def test_refuses_replicas(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        Replica(LABELS, **arguments)
