"""The paper's two figures of results, drawn from rows and features (extra ``plot``)."""

from grande_gnn.experiments.figures.canvas import STYLE, new_figure, write_figure

__all__ = ["STYLE", "new_figure", "write_figure"]
