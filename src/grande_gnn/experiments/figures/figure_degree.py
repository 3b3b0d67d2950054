"""The paper's worked example: one node, its neighbours as thumbnails, and how its degree comes about.

Two nodes with equally many neighbours stand side by side, one with far and one with near ones: the farther
the neighbours, the larger 1/f, s and δ, and the quieter the node's messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.degree import LOG_PENALTY_CAP
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import LoadedSet
from grande_gnn.experiments.figures import STYLE, new_figure
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.experiments.measure import Material
from grande_gnn.experiments.trials import Plan
from grande_gnn.graph import Graph

__all__ = [
    "TEXT_WIDTH",
    "WorkedExample",
    "degree_figure",
    "edge_distances",
    "learned_distances",
    "pick_examples",
    "work_out",
]

TEXT_WIDTH = 6.3
"""Inches: the text width of the paper's style."""

_BLOCK = 2**16
"""Edges measured at once."""


@dataclass(frozen=True, eq=False)
class WorkedExample:
    """Every number that leads to the degree of one node."""

    node: int
    neighbours: NDArray[np.int64]
    """The others, nearest first; the node itself is left out but counts in ``n_neighbours`` and s."""
    distances: NDArray[np.float64]
    """ρ′ to each of them."""
    penalties: NDArray[np.float64]
    """1/f of each of them."""
    n_neighbours: int
    s: float
    degree: float


def learned_distances(
    loaded: LoadedSet, plan: Plan, device: str = "auto"
) -> tuple[Graph, NDArray[np.float64]]:
    """The graph of a features file and ρ′ of its edges in the output of APPNP's head, trained on the first fold."""
    material = Material.of(loaded, plan, [plan.graph])
    graph = material.graphs[plan.graph]
    labels = fold_labels(loaded.codes, paper_folds(loaded.codes, plan.folds)[0][0])
    settings = Settings(lr=plan.lr or loaded.source.lr, epochs=plan.epochs, device=device, seed=plan.seed)
    replica = Replica(labels=labels, degree=plan.sigma)
    outcome = train(material.X, graph, [replica], loaded.n_classes, settings, keep_models=True)[0]
    assert outcome.head_output is not None
    return graph, edge_distances(outcome.head_output, graph)


def edge_distances(h: NDArray[np.floating[Any]], graph: Graph) -> NDArray[np.float64]:
    """ρ′ of every edge, in the order of ``graph.indices``."""
    rho = np.empty(graph.n_edges)
    for start in range(0, graph.n_edges, _BLOCK):
        edges = slice(start, start + _BLOCK)
        gaps = h[graph.rows[edges]].astype(np.float64) - h[graph.indices[edges]]
        rho[edges] = np.linalg.norm(gaps, axis=1)
    spread = rho.max() - rho.min()
    return (rho - rho.min()) / (spread if spread > 0 else 1.0)


def work_out(distances: NDArray[np.float64], graph: Graph, sigma: float, node: int) -> WorkedExample:
    """The degree of one node from the distances of all edges, step by step as on paper."""
    if not 0 <= node < graph.n_nodes:
        raise InvalidInputError(f"a node must be one of 0 to {graph.n_nodes - 1}; got {node}")
    edges = slice(graph.indptr[node], graph.indptr[node + 1])
    members, rho = graph.indices[edges].astype(np.int64), distances[edges]
    penalties = np.exp(np.minimum(rho**2 / sigma, LOG_PENALTY_CAP))
    s = float(penalties.mean())
    order = np.argsort(rho, kind="stable")
    order = order[members[order] != node]
    return WorkedExample(
        node, members[order], rho[order], penalties[order], len(members), s, len(members) + s
    )


def pick_examples(
    distances: NDArray[np.float64], graph: Graph, sigma: float, n_others: int = 5
) -> tuple[WorkedExample, WorkedExample]:
    """A node with far neighbours and one with near ones, both with as near to ``n_others`` as there are.

    They are the ninth and the first decile of s among such nodes, so that neither is an outlier.
    """
    sizes, counts = np.unique(graph.degree - 1, return_counts=True)
    sizes = sizes[(counts > 1) & (sizes > 0)]
    if len(sizes) == 0:
        raise InvalidInputError(
            "the example needs two nodes with equally many neighbours: use a denser graph; got none in this one"
        )
    size = sizes[np.abs(sizes - n_others).argmin()]
    examples = [work_out(distances, graph, sigma, int(q)) for q in np.flatnonzero(graph.degree - 1 == size)]
    examples.sort(key=lambda example: example.s)
    last = len(examples) - 1
    return examples[math.ceil(0.9 * last)], examples[math.floor(0.1 * last)]


def degree_figure(far: WorkedExample, near: WorkedExample, images: Mapping[int, Path], sigma: float) -> Any:
    """Draw both examples side by side; ``images`` are the files of their nodes, a missing one a grey tile."""
    figure = new_figure(TEXT_WIDTH, 3.5, constrained=False)
    import matplotlib

    with matplotlib.rc_context(STYLE):
        panels = figure.subplots(
            1, 2, gridspec_kw={"left": 0.01, "right": 0.99, "bottom": 0.13, "top": 0.93, "wspace": 0.02}
        )
        for panel, example, title in zip(
            panels, (far, near), ("1: farther neighbours", "2: closer neighbours"), strict=True
        ):
            _draw(panel, example, images, sigma)
            panel.set_title(title, fontweight="bold")
    return figure


def _draw(panel: Any, example: WorkedExample, images: Mapping[int, Path], sigma: float) -> None:
    """The node in the middle, neighbours around it at their distance, the sum below."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(example.neighbours)) / max(1, len(example.neighbours))
    for angle, node, rho, penalty in zip(
        angles, example.neighbours, example.distances, example.penalties, strict=True
    ):
        # Thumbnails need room: the drawn length is the distance on top of a fixed part.
        end = (0.6 + 0.4 * rho) * np.array([np.cos(angle), np.sin(angle)])
        panel.plot([0, end[0]], [0, end[1]], color="0.55", linewidth=1, zorder=1)
        _thumbnail(panel, images[node], end, "0.3")
        below = end[1] <= 0.3
        panel.annotate(
            f"ρ′ = {rho:.2f}\n1/f = {penalty:.2f}",
            end,
            xytext=(0, -19 if below else 19),
            textcoords="offset points",
            ha="center",
            va="top" if below else "bottom",
            fontsize=7,
            linespacing=1.05,
        )
    _thumbnail(panel, images[example.node], np.zeros(2), "#C00000")
    terms = " + ".join(["1", *(f"{penalty:.2f}" for penalty in example.penalties)])
    panel.set_xlabel(
        f"s = ({terms}) / {example.n_neighbours} = {example.s:.2f}\n"
        f"δ = |N| + s = {example.n_neighbours} + {example.s:.2f} = {example.degree:.2f}    (σ = {sigma:g})",
        fontsize=7.5,
        linespacing=1.4,
    )
    panel.set(xlim=(-1.25, 1.25), ylim=(-1.2, 1.25), xticks=[], yticks=[])
    for spine in panel.spines.values():
        spine.set_visible(False)


def _thumbnail(panel: Any, path: Path, where: NDArray[np.float64], frame: str) -> None:
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    box = OffsetImage(_square(path), zoom=0.32)
    panel.add_artist(
        AnnotationBbox(
            box, tuple(where), pad=0.08, bboxprops={"edgecolor": frame, "linewidth": 1.4}, zorder=2
        )
    )


def _square(path: Path, side: int = 100) -> NDArray[np.uint8]:
    """The middle square of an image, small; grey where there is no readable image."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            upright = ImageOps.exif_transpose(image).convert("RGB")
            return np.asarray(ImageOps.fit(upright, (side, side)))
    except (OSError, UnidentifiedImageError):
        return np.full((side, side, 3), 200, dtype=np.uint8)
