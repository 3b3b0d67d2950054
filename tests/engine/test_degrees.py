"""One registry of degrees: names, objects and functions all become a degree object."""

import subprocess
import sys
from dataclasses import dataclass

import pytest
import torch

from grande_gnn.degree import Centrality, Custom, Degree, Grande
from grande_gnn.engine.degrees import DEGREES, as_degree, check_delta, is_registered, register_degree
from grande_gnn.errors import InvalidInputError


def test_names_objects_and_functions():
    function = lambda h, graph: h[:, 0].exp()  # noqa: E731
    assert as_degree("grande", 0.7) == Grande(0.7)
    assert as_degree("grande") == Grande(0.2)
    assert as_degree("centrality", 0.7) == Centrality()
    assert as_degree(Grande(0.3), 0.7) == Grande(0.3)
    assert as_degree(function) == Custom(function)


@pytest.mark.parametrize("name", ["gaussian", "", None, 0.2, ["grande"]])
def test_refuses_what_is_no_degree(name):
    with pytest.raises(InvalidInputError, match=r"degree must be one of grande, centrality; got "):
        as_degree(name)


def test_every_degree_of_the_registry_has_its_name():
    for name, factory in DEGREES.items():
        assert isinstance(factory(0.4), Degree)
        assert factory(0.4).name == name


def test_a_new_degree_is_one_line(monkeypatch):
    monkeypatch.setattr("grande_gnn.engine.degrees.DEGREES", dict(DEGREES))
    register_degree("narrow", lambda sigma: Grande(sigma / 10))
    assert as_degree("narrow", 1.0) == Grande(0.1)


def test_the_registries_do_not_import_torch():
    script = "import sys; import grande_gnn.engine.degrees, grande_gnn.engine.models; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_a_registered_degree_is_one_that_its_name_and_sigma_give_again(monkeypatch):
    @dataclass(frozen=True)
    class Variant(Grande):
        factor: float = 1.0

    class Plain(Degree):
        name = "plain"

        def __init__(self, power=1):
            self.power = power

        def __call__(self, h, graph):
            return h.norm(dim=1) ** self.power

    monkeypatch.setattr("grande_gnn.engine.degrees.DEGREES", {**DEGREES, "plain": lambda sigma: Plain()})
    assert is_registered(Grande(0.7))
    assert is_registered(Centrality())
    assert is_registered(Plain())
    assert not is_registered(Plain(2))
    assert not is_registered(Variant(0.2))
    assert not is_registered(Custom(lambda h, graph: h[:, 0]))


@pytest.mark.parametrize(
    "delta", [None, torch.ones(1), torch.ones(3, 1), torch.tensor(1.0), torch.tensor([1.0, 0.0, 2.0])]
)
def test_what_is_no_positive_number_per_node_is_no_degree(delta):
    with pytest.raises(InvalidInputError, match="a degree function must return one positive number per node"):
        check_delta(delta, torch.zeros(3, 2))


def test_a_degree_has_the_precision_of_the_features():
    assert check_delta(torch.tensor([1, 2, 3]), torch.zeros(3, 2)).dtype == torch.float32
    assert check_delta(torch.tensor([1.0, -1, 3]), torch.zeros(3, 2), values=False).tolist() == [1, -1, 3]
