"""The oldest versions are those of pyproject.toml, and the files around the package agree with it."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import grande_gnn

PROJECT = Path(__file__).parents[2]
DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]


def load_script():
    spec = importlib.util.spec_from_file_location("minimum", PROJECT / "scripts" / "minimum_versions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_requirement_but_torch_has_its_oldest_version():
    lines = load_script().minimum_versions(DECLARED)
    names = {line.split("==")[0] for line in lines}
    declared = {line.split(">=")[0]: line.split(">=")[1] for line in DECLARED["dependencies"]}
    assert set(declared) - names == {"torch"}
    assert all(f"{name}=={version}" in lines for name, version in declared.items() if name != "torch")


def test_the_oldest_torch_is_one_that_was_run():
    (oldest,) = (line.split(">=")[1] for line in DECLARED["dependencies"] if line.startswith("torch>="))
    run = [
        line for line in (PROJECT / "docs/platforms.md").read_text("utf-8").splitlines() if "tests" in line
    ]
    assert any(re.search(rf"PyTorch {re.escape(oldest)}\b", line) for line in run)


def test_workflows_test_the_versions_of_python_that_are_declared():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((PROJECT / ".github/workflows/tests.yml").read_text("utf-8"))
    tested = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    listed = [c.rpartition(" ")[2] for c in DECLARED["classifiers"] if "Python :: 3." in c]
    assert tested == listed
    assert DECLARED["requires-python"] == f">={tested[0]}"


def test_the_citation_has_the_version_of_the_package():
    lines = (PROJECT / "CITATION.cff").read_text("utf-8").splitlines()
    assert f"version: {grande_gnn.__version__}" in lines


def test_everything_the_source_distribution_names_is_there():
    included = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    missing = [name for name in included["targets"]["sdist"]["include"] if not (PROJECT / name).exists()]
    assert not missing
