"""The paper's worked example: one node, its neighbors as thumbnails, and how its degree is computed.

Two nodes with the same number of neighbors are shown, one with distant and one with close neighbors: the more distant the
neighbors, the larger are 1/f, s and δ, and the weaker are the node's messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.engine import Settings, as_degree
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import LoadedSet
from grande_gnn.experiments.figures.canvas import STYLE, new_figure
from grande_gnn.experiments.folds import fold_labels, paper_folds
from grande_gnn.experiments.measure import SharedData
from grande_gnn.experiments.trials import GRANDE, Plan
from grande_gnn.graph import Graph

__all__ = [
    "TEXT_WIDTH",
    "Terms",
    "WorkedExample",
    "degree_figure",
    "edge_terms",
    "examples",
    "pick_examples",
    "thumbnail",
    "work_out",
]

TEXT_WIDTH = 6.3
"""Inches: the text width of the paper's style."""


Terms = tuple[NDArray[np.float64], NDArray[np.float64]]
"""ρ′ and 1/f of every edge of a graph."""


@dataclass(frozen=True, eq=False)
class WorkedExample:
    """Every number that leads to the degree of one node."""

    node: int
    neighbors: NDArray[np.int64]
    """The other nodes, nearest first; the node itself is not listed but counts in ``n_neighbors`` and s."""
    distances: NDArray[np.float64]
    """ρ′ to each of them."""
    penalties: NDArray[np.float64]
    """1/f of each of them."""
    n_neighbors: int
    s: float
    degree: float


def examples(
    loaded: LoadedSet, plan: Plan, device: str = "auto", nodes: tuple[int, int] | None = None
) -> tuple[WorkedExample, WorkedExample]:
    """A node with distant and one with close neighbors in the output of APPNP's head, trained on the first fold.

    ``nodes`` are shown instead of typical nodes; the one with the larger s is shown as the one with distant neighbors.
    """
    shared = SharedData.of(loaded, plan, [plan.graph])
    graph = shared.graphs[plan.graph]
    labels = fold_labels(loaded.codes, paper_folds(loaded.codes, plan.folds)[0][0])
    settings = Settings(lr=plan.lr or loaded.source.lr, epochs=plan.epochs, device=device, seed=plan.seed)
    degree = as_degree(GRANDE, plan.sigma)
    problem = LearningProblem(shared.X, graph, loaded.n_classes, degree, settings)
    (outcome,) = problem.train([labels], keep_models=True)
    assert outcome.head_output is not None  # keep_models=True
    terms = edge_terms(outcome.head_output, graph, plan.sigma)
    if nodes is None:
        return pick_examples(terms, graph)
    near, far = sorted((work_out(terms, graph, q) for q in nodes), key=lambda one: one.s)
    return far, near


def edge_terms(h: NDArray[np.floating[Any]], graph: Graph, sigma: float) -> Terms:
    """ρ′ and 1/f of every edge, in the order of ``graph.indices``, in double precision."""
    degree: Any = as_degree(GRANDE, sigma)
    rho, penalties = degree.terms(torch.from_numpy(np.asarray(h, dtype=np.float64)), graph)
    return rho.numpy(), penalties.numpy()


def work_out(terms: Terms, graph: Graph, node: int) -> WorkedExample:
    """The degree of one node, step by step: s is the mean of 1/f over its edges, and δ = |N| + s."""
    if not 0 <= node < graph.n_nodes:
        raise InvalidInputError(f"a node must be one of 0 to {graph.n_nodes - 1}; got {node}")
    edges = slice(graph.indptr[node], graph.indptr[node + 1])
    members = graph.indices[edges].astype(np.int64)
    rho, penalties = (term[edges] for term in terms)
    s = float(penalties.mean())
    order = np.argsort(rho, kind="stable")
    order = order[members[order] != node]
    return WorkedExample(
        node, members[order], rho[order], penalties[order], len(members), s, len(members) + s
    )


def pick_examples(terms: Terms, graph: Graph, n_others: int = 5) -> tuple[WorkedExample, WorkedExample]:
    """A node with distant and one with close neighbors; both have about ``n_others`` neighbors.

    They are at the ninth and the first decile of s among nodes with that many neighbors, so that neither is an outlier.
    """
    sizes, counts = np.unique(graph.degree - 1, return_counts=True)
    sizes = sizes[(counts > 1) & (sizes > 0)]
    if len(sizes) == 0:
        raise InvalidInputError(
            "the example needs two nodes with equally many neighbors: use a denser graph; got none in this one"
        )
    size = sizes[np.abs(sizes - n_others).argmin()]
    found = [work_out(terms, graph, int(q)) for q in np.flatnonzero(graph.degree - 1 == size)]
    found.sort(key=lambda example: example.s)
    last = len(found) - 1
    return found[math.ceil(0.9 * last)], found[math.floor(0.1 * last)]


def degree_figure(far: WorkedExample, near: WorkedExample, images: Mapping[int, Path], sigma: float) -> Any:
    """Draw both examples side by side; ``images`` are the files of their nodes, and a missing one is a gray tile."""
    figure = new_figure(TEXT_WIDTH, 3.5, constrained=False)
    import matplotlib

    with matplotlib.rc_context(STYLE):
        panels = figure.subplots(
            1, 2, gridspec_kw={"left": 0.01, "right": 0.99, "bottom": 0.13, "top": 0.93, "wspace": 0.02}
        )
        for panel, example, title in zip(
            panels, (far, near), ("1: farther neighbors", "2: closer neighbors"), strict=True
        ):
            _draw(panel, example, images, sigma)
            panel.set_title(title, fontweight="bold")
    return figure


def _draw(panel: Any, example: WorkedExample, images: Mapping[int, Path], sigma: float) -> None:
    """Draw the node in the middle, its neighbors around it at their distances, and the sum below."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(example.neighbors)) / max(1, len(example.neighbors))
    for angle, node, rho, penalty in zip(
        angles, example.neighbors, example.distances, example.penalties, strict=True
    ):
        # Thumbnails need room, so the drawn length is a constant plus the distance.
        end = (0.6 + 0.4 * rho) * np.array([np.cos(angle), np.sin(angle)])
        panel.plot([0, end[0]], [0, end[1]], color="0.55", linewidth=1, zorder=1)
        _draw_thumbnail(panel, images[node], end, "0.3")
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
    _draw_thumbnail(panel, images[example.node], np.zeros(2), "#C00000")
    terms = " + ".join(["1", *(f"{penalty:.2f}" for penalty in example.penalties)])
    panel.set_xlabel(
        f"s = ({terms}) / {example.n_neighbors} = {example.s:.2f}\n"
        f"δ = |N| + s = {example.n_neighbors} + {example.s:.2f} = {example.degree:.2f}    (σ = {sigma:g})",
        fontsize=7.5,
        linespacing=1.4,
    )
    panel.set(xlim=(-1.25, 1.25), ylim=(-1.2, 1.25), xticks=[], yticks=[])
    for spine in panel.spines.values():
        spine.set_visible(False)


def _draw_thumbnail(panel: Any, path: Path, where: NDArray[np.float64], frame: str) -> None:
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    box = OffsetImage(thumbnail(path), zoom=0.32)
    panel.add_artist(
        AnnotationBbox(
            box, tuple(where), pad=0.08, bboxprops={"edgecolor": frame, "linewidth": 1.4}, zorder=2
        )
    )


def thumbnail(path: Path, side: int = 100) -> NDArray[np.uint8]:
    """The middle square of an image, small; gray where there is no readable image."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            upright = ImageOps.exif_transpose(image).convert("RGB")
            return np.asarray(ImageOps.fit(upright, (side, side)))
    except (OSError, UnidentifiedImageError):
        return np.full((side, side, 3), 200, dtype=np.uint8)
