"""Whether a figure can be read where it is printed."""

from itertools import combinations

import pytest


def texts(figure):
    """Every piece of text that is drawn, with its box in pixels; labels of ticks out of view are not."""
    from matplotlib.text import Text

    unseen = set()
    for axis in (axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)):
        low, high = sorted(axis.get_view_interval())
        unseen |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    renderer = figure.canvas.get_renderer()
    found = [text for text in figure.findobj(Text) if text.get_visible() and text not in unseen]
    boxes = [(text, text.get_window_extent(renderer)) for text in found if text.get_text().strip()]
    return [(text, box) for text, box in boxes if box.width > 0]


def assert_legible(figure, width):
    """No letter below 7 pt at the printed width, nothing cut off, no text on another."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).draw()
    assert figure.get_figwidth() == width
    drawn = texts(figure)
    assert len(drawn) > 5
    assert min(text.get_fontsize() for text, _ in drawn) >= 7
    page = figure.bbox
    for text, box in drawn:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
        assert inside, text.get_text()
    for (one, box), (other, other_box) in combinations(drawn, 2):
        assert not box.padded(-1).overlaps(other_box.padded(-1)), (one.get_text(), other.get_text())


@pytest.fixture(name="assert_legible")
def _assert_legible():
    """The function that checks a figure for its printed width."""
    return assert_legible
