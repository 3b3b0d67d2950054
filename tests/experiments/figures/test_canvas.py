"""Figures of a given width, written as PNG and SVG."""

import sys

import pytest

from grande_gnn.errors import MissingDependencyError
from grande_gnn.experiments.figures import STYLE, new_figure, write_figure


def test_a_figure_has_its_width_on_paper(tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    from PIL import Image

    figure = new_figure(3.5, 1.0)
    with matplotlib.rc_context(STYLE):
        figure.subplots()
    png, svg = write_figure(figure, tmp_path / "new", "name")
    assert (png.name, svg.name) == ("name.png", "name.svg")
    with Image.open(png) as picture:
        assert picture.size == (1050, 300)
    assert svg.read_text().startswith("<?xml")


def test_no_letter_is_below_seven_points():
    assert min(size for name, size in STYLE.items() if "size" in name) == 7


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install .grande-gnn\[plot\]"):
        new_figure(1, 1)
