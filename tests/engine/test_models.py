"""One registry of models, each an object that says what it makes of the common settings."""

import inspect

import pytest
import torch

from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine.models import APPNP, MODELS, SGC, Model, PlainModel, as_model, register_model
from grande_gnn.errors import InvalidInputError


def test_the_authors_two_models():
    appnp, sgc = models = [model for model in MODELS.values() if model.is_diffusion]
    assert models == [MODELS["appnp"], MODELS["sgc"]]
    assert (appnp.title, sgc.title) == ("APPNP", "SGC")
    assert (appnp.hops(None), sgc.hops(None)) == (10, 2)
    assert (appnp.hops(0), sgc.hops(0)) == (0, 0)
    assert (appnp.teleport(0.3), sgc.teleport(0.3)) == (0.3, 0.0)
    assert (appnp.drop(0.3), sgc.drop(0.3)) == (0.3, 0.0)
    assert (appnp.width(64), appnp.width(None), sgc.width(64)) == (64, None, None)


def test_every_model_has_a_name_a_title_and_a_line_for_help():
    assert list(MODELS) == ["appnp", "sgc", "gcn", "gprgnn", "ppr", "gat", "sage"]
    for name, model in MODELS.items():
        assert model.name == name
        assert model.title.lower().replace("-", "").replace("graph", "") == name
        assert model.summary


def test_networks_of_the_package_are_imported_when_they_are_needed():
    build = MODELS["gcn"].build
    assert list(inspect.signature(build).parameters) == ["n_features", "n_classes", "hidden", "dropout"]
    assert isinstance(build(5, 3, hidden=2), build.load())
    # that reading their names imports no torch is held by tests/test_architecture.py


def test_only_sgc_diffuses_the_features_before_the_training():
    assert SGC().precomputes(Centrality())
    assert not SGC().precomputes(Grande())
    assert not APPNP().precomputes(Centrality())


def test_parameters():
    assert APPNP().parameter_shapes(5, 4, 3) == {
        "weight1": (5, 4), "bias1": (4,), "weight2": (4, 3), "bias2": (3,),
    }  # fmt: skip
    linear = {"weight": (5, 3), "bias": (3,)}
    assert APPNP().parameter_shapes(5, None, 3) == SGC().parameter_shapes(5, 4, 3) == linear


def test_names_objects_and_modules():
    assert as_model("sgc") is MODELS["sgc"]
    model = APPNP(n_hops=3)
    assert as_model(model) is model
    plain = as_model(torch.nn.Linear)
    assert plain == PlainModel("Linear", torch.nn.Linear)
    assert (plain.title, plain.is_diffusion) == ("Linear", False)
    instance = torch.nn.Linear(2, 3)
    assert as_model(instance) == PlainModel("Linear", instance)


@pytest.mark.parametrize("name", ["gin", "", None, 3])
def test_refuses_what_is_no_model(name):
    with pytest.raises(InvalidInputError, match=r"model must be one of appnp, sgc, gcn, .*; got "):
        as_model(name)


def test_a_new_model_is_one_line(monkeypatch):
    monkeypatch.setattr("grande_gnn.engine.models.MODELS", dict(MODELS))
    register_model(PlainModel("linear", torch.nn.Linear, "Linear layer"))
    assert as_model("linear").title == "Linear layer"
    assert isinstance(as_model("linear"), Model)
