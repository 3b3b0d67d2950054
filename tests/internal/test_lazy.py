"""Lazy packages import a name's module when the name is first used."""

import subprocess
import sys

import pytest

import grande_gnn.graph
from grande_gnn.internal.lazy import lazy_names


def test_a_name_comes_from_its_home_and_unknown_names_are_refused():
    get, names = lazy_names("grande_gnn.graph", {"sqrt": "math"})
    assert get("sqrt")(9) == 3
    assert names() == ["sqrt"]
    with pytest.raises(AttributeError, match="has no attribute 'cbrt'"):
        get("cbrt")
    del grande_gnn.graph.sqrt


def test_the_registry_of_graphs_imports_neither_torch_nor_scipy():
    code = (
        "import sys; import grande_gnn.graph.kinds as kinds; assert 'dgcg' in kinds.GRAPHS;"
        "assert not {'torch', 'scipy', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
