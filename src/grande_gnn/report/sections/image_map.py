"""The map: every image a dot or a picture, near the images it resembles, with filters and an inspector."""

from __future__ import annotations

import numpy as np

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.map import FEWER_LANDMARKS, LANDMARKS, image_map
from grande_gnn.report.page import Page
from grande_gnn.report.sections.section import Section
from grande_gnn.report.templates import json_markup

__all__ = ["IMAGE_MAP"]

_GRID = 9999
"""Positions are whole numbers from 0 to this, which is finer than a screen."""


def _render(labelling: Labelling, page: Page) -> str:
    if labelling.neighbors is None:
        return ""
    landmarks = LANDMARKS if len(page.shown) == len(labelling.files) else FEWER_LANDMARKS
    position, method = image_map(
        labelling.neighbors.features[page.shown], landmarks=landmarks, random_state=page.random_state
    )
    columns = _columns(labelling, page)
    columns["xy"] = np.rint(position * _GRID).astype(int).ravel().tolist()
    return page.render(
        "image_map",
        method=labelling.said(method),
        n_images=len(labelling.files),
        n_shown=len(page.shown),
        n_classes=len(page.classes),
        data=json_markup(columns),
    )


def _columns(labelling: Labelling, page: Page) -> dict[str, object]:
    """One entry per shown image; numbers instead of texts, and scores in thousandths."""
    code = {name: i for i, name in enumerate(page.classes)} | {"": -1}
    doubts = {suspicion.row: suspicion for suspicion in labelling.suspicions}
    flags = labelling.unreached * 1 + labelling.out_of_distribution * 2
    rows = page.shown.tolist()
    return {
        "runner": [code[labelling.runner_up[row]] for row in rows],
        "confidence": np.rint(labelling.confidence[page.shown] * 1000).astype(int).tolist(),
        "margin": np.rint(labelling.margin[page.shown] * 1000).astype(int).tolist(),
        "flags": [int(flags[row]) + 4 * (row in doubts) for row in rows],
        "near": [[n for other in page.similar(row) if (n := int(page.number[other])) >= 0] for row in rows],
        "suggested": {
            int(page.number[row]): [doubt.label, round(doubt.confidence * 1000)]
            for row, doubt in doubts.items()
            if page.number[row] >= 0
        },
        "root": page.image_root,
    }


IMAGE_MAP = Section("map", "Map", _render, needs_script=True)
"""The map of the images; left out if the labelling has no features."""
