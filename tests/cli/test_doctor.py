"""``grande doctor``: what is installed, what is missing, and the pip line for it."""

import json
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import grande_gnn
from grande_gnn.cli import doctor

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture
def without(monkeypatch):
    """A function that makes packages look as if they were not installed."""

    def hide(*names):
        version = metadata.version

        def without_them(name):
            if name.lower() in names:
                raise metadata.PackageNotFoundError(name)
            return version(name)

        monkeypatch.setattr(metadata, "version", without_them)

    return hide


def test_it_reports_versions_the_device_and_the_cache(grande, tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path))
    result = grande("doctor")
    assert result.exit_code == 0
    assert f"grande {grande_gnn.__version__}" in result.output
    assert f"numpy {metadata.version('numpy')}" in result.output
    assert "cpu, " in result.output
    assert f"{tmp_path}: 0 B" in result.output


def test_what_is_missing_for_an_extra_comes_with_the_pip_line(grande, without):
    without("matplotlib")
    said = grande("doctor").output
    assert 'grande figure: missing: pip install "grande-gnn[plot]"' in said
    assert "grande review: installed" in said


def test_a_missing_requirement_is_an_exit_status_of_one(grande, without):
    without("scipy")
    result = grande("doctor")
    assert result.exit_code == 1
    assert "scipy MISSING" in result.output
    assert "pip install scipy" in result.output


def test_json_holds_the_same(grande, without):
    without("starlette")
    found = json.loads(grande("doctor", "--json").output)
    assert found["extras"]["review"] == ["starlette"]
    assert found["missing"] == []
    assert found["packages"]["torch"] == metadata.version("torch")


def test_every_extra_for_users_is_described():
    for_developers = {"test", "test-all", "docs"}
    assert set(doctor.EXTRAS) == set(PROJECT["optional-dependencies"]) - for_developers


def test_requirements_of_an_extra_with_a_marker_are_read(monkeypatch):
    lines = [
        "numpy>=1.26",
        'a-b[c]>=1; extra == "images"',
        "triton>=3; platform_system == 'Linux' and extra == 'test'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: lines)
    assert doctor.requirements() == (["numpy"], {"images": ["a-b"], "test": ["triton"]})
