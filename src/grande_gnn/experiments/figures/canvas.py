"""The style of the paper's figures, and writing them to files (extra ``plot``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grande_gnn.errors import MissingDependencyError

__all__ = ["STYLE", "new_figure", "write_figure"]

STYLE: Any = {
    "font.size": 8,  # so that nothing is below 7 pt in print
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
"""Settings of matplotlib for a figure that is printed at its own width."""


def new_figure(width: float, height: float, *, constrained: bool = True) -> Any:
    """An empty figure of that many inches, to be drawn inside ``matplotlib.rc_context(STYLE)``."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError('figures need matplotlib: pip install "grande-gnn[plot]"') from None
    return Figure(figsize=(width, height), layout="constrained" if constrained else None)


def write_figure(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG (300 dpi) and SVG and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    for path in paths:
        figure.savefig(path, dpi=300)
    return paths
