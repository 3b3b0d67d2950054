"""One registry of degrees: names, objects and functions all become a degree object."""

import subprocess
import sys

import pytest

from grande_gnn.degree import Centrality, Custom, Degree, Grande
from grande_gnn.engine.degrees import DEGREES, as_degree, register_degree
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
