"""The package itself: typed, quick to import, and its public names are found when they are used."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import grande_gnn

ROOT = Path(grande_gnn.__file__).parent


def test_it_says_that_it_is_typed():
    assert (ROOT / "py.typed").read_text() == ""


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    assert grande_gnn.__version__ == project["version"]


def test_importing_it_imports_nothing_heavy():
    script = (
        "import sys, grande_gnn\n"
        "heavy = {'torch', 'numpy', 'scipy', 'sklearn', 'PIL', 'click'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", grande_gnn.__all__)
def test_every_public_name_is_found(name):
    assert getattr(grande_gnn, name) is not None
    assert name in dir(grande_gnn)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'grande_gnn' has no attribute 'nothing'"):
        grande_gnn.nothing  # noqa: B018
