"""From content to what the page prints: lists, table rows, the diagram's numbers and the map's data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.labelling.confidence import wilson_interval
from grande_gnn.report.content import ReportContent
from grande_gnn.report.map import image_map, unit_square
from grande_gnn.report.palette import class_colors

__all__ = ["MAX_IMAGES", "Page", "build_page"]

MAX_IMAGES = 20_000
"""Images on the map, each with a thumbnail; of more, a random sample is shown and the page says so."""

_LISTED = 60
"""Entries of a list of images; the rest is in ``predictions.csv``."""

_NEIGHBORS = 6
"""Neighbours shown with an image: one row on a phone."""

_UNSURE = 0.5
"""Below this confidence the label is more likely wrong than right."""


@dataclass
class Page:
    """What the template prints, the data of the map, and the images that need a thumbnail, in order."""

    context: dict[str, Any]
    data: dict[str, Any]
    shown: NDArray[np.int64]


def build_page(content: ReportContent, *, random_state: int = 0) -> Page:
    """Choose what is listed and shown, lay the map out, and number everything for the page."""
    lists = _lists(content)
    shown = _shown(content, lists, random_state)
    number = np.full(content.n_images, -1)
    number[shown] = np.arange(len(shown))
    names = content.classes
    light, dark = class_colors(len(names))
    position, method = _positions(content, shown, random_state)
    suggested = {int(number[s.index]): s for s in content.suspicions}
    context = {
        "content": content,
        "counts": _counts(content, shown),
        "colors": dict(zip(names, zip(light, dark, strict=True), strict=True)),
        "classes": _class_rows(content),
        "bins": _bin_rows(content),
        "calibration_error": _calibration_error(content),
        "lists": {name: [_card(content, i, number) for i in rows] for name, rows in lists.items()},
        "map_method": method,
    }
    data = {
        "classes": names,
        "light": light,
        "dark": dark,
        **_columns(content, shown, number, names),
        "xy": None if position is None else np.rint(position * 9999).astype(int).ravel().tolist(),
        "suggested": {i: [s.suggested, round(s.confidence * 1000)] for i, s in suggested.items() if i >= 0},
        "root": content.image_root,
    }
    return Page(context, data, shown)


def _lists(content: ReportContent) -> dict[str, list[int]]:
    """The images of each list of the page, worst first."""
    confidence, unreached = content.confidence, content.unreached
    order = np.lexsort((content.margin, confidence))
    unsure = order[~content.given[order] & ~unreached[order]]
    far = order[content.out_of_distribution[order]]
    return {
        "unsure": unsure[:_LISTED].tolist(),
        "suspicious": [s.index for s in content.suspicions][:_LISTED],
        "out_of_distribution": far[:_LISTED].tolist(),
        "unreached": np.flatnonzero(unreached)[:_LISTED].tolist(),
    }


def _shown(content: ReportContent, lists: dict[str, list[int]], random_state: int) -> NDArray[np.int64]:
    """All images, or every listed one with its neighbours and a random sample of the others."""
    if content.n_images <= MAX_IMAGES:
        return np.arange(content.n_images)
    listed = [i for rows in lists.values() for i in rows]
    needed = {*listed, *(j for i in listed for j in _neighbors(content, i))}
    order = np.random.default_rng(random_state).permutation(content.n_images)
    extra = [i for i in order.tolist() if i not in needed][: MAX_IMAGES - len(needed)]
    return np.array(sorted([*needed, *extra]))


def _neighbors(content: ReportContent, image: int) -> list[int]:
    row = content.neighbors[image]
    return row[(row >= 0) & (row != image)][:_NEIGHBORS].tolist()


def _positions(
    content: ReportContent, shown: NDArray[np.int64], random_state: int
) -> tuple[NDArray[np.float64] | None, str]:
    if content.coordinates is not None:
        return unit_square(content.coordinates[shown]), content.map_method
    if content.features is not None:
        return image_map(content.features[shown], random_state=random_state)
    return None, ""


def _counts(content: ReportContent, shown: NDArray[np.int64]) -> dict[str, int]:
    free = ~content.given
    labelled = np.array([bool(label) for label in content.labels])
    return {
        "images": content.n_images,
        "given": int(content.given.sum()),
        "predicted": int((free & labelled).sum()),
        "without": int((free & ~labelled).sum()),
        "classes": len(content.classes),
        "unsure": int((free & labelled & (content.confidence < _UNSURE)).sum()),
        "suspicious": len(content.suspicions),
        "out_of_distribution": int(content.out_of_distribution.sum()),
        "unreached": int(content.unreached.sum()),
        "problems": len(content.problems),
        "shown": len(shown),
    }


def _class_rows(content: ReportContent) -> list[dict[str, Any]]:
    confidence, free = content.confidence, ~content.given
    given, labels = Counter(content.given_labels), np.array(content.labels, dtype=object)
    rows = []
    for name in content.classes:
        received = free & (labels == name)
        mean = float(confidence[received].mean()) if received.any() else None
        rows.append(
            {
                "name": name,
                "given": given[name],
                "predicted": int(received.sum()),
                "confidence": mean,
                "accuracy": content.class_accuracy.get(name),
            }
        )
    return rows


def _bin_rows(content: ReportContent) -> list[dict[str, Any]]:
    """The bins that hold images, each with the interval and the size of its dot."""
    most = max((part.count for part in content.calibration), default=0)
    return [
        {
            "range": (part.low, part.high),
            "count": part.count,
            "confidence": part.confidence,
            "accuracy": part.accuracy,
            "interval": wilson_interval(part.accuracy * part.count, part.count),
            "radius": round(3 + 5 * float(np.sqrt(part.count / most)), 1),
        }
        for part in content.calibration
        if part.count
    ]


def _calibration_error(content: ReportContent) -> float | None:
    """Expected calibration error: mean gap between confidence and accuracy, weighted by images."""
    total = sum(part.count for part in content.calibration)
    if total == 0:
        return None
    return sum(part.count * abs(part.confidence - part.accuracy) for part in content.calibration) / total


def _card(content: ReportContent, image: int, number: NDArray[np.int64]) -> dict[str, Any]:
    """One entry of a list of images; ``number`` gives the images' numbers on the page."""
    near = _neighbors(content, image)
    best = [content.given_labels[j] or content.labels[j] for j in near]
    confidence = float(content.confidence[image])
    suspicion = next((s for s in content.suspicions if s.index == image), None)
    return {
        "number": int(number[image]),
        "file": content.files[image],
        "label": content.labels[image],
        "confidence": confidence,
        "runner_up": content.runner_up[image],
        "runner_up_confidence": max(0.0, confidence - float(content.margin[image])),
        "given": content.given_labels[image],
        "suggested": suspicion.suggested if suspicion else "",
        "suggested_confidence": suspicion.confidence if suspicion else 0.0,
        "neighbors": [
            {"number": int(number[j]), "label": label} for j, label in zip(near, best, strict=True)
        ],
        "neighbor_labels": Counter(label or "no label" for label in best).most_common(),
    }


def _columns(
    content: ReportContent, shown: NDArray[np.int64], number: NDArray[np.int64], names: list[str]
) -> dict[str, Any]:
    """The columns of the map's data: one entry an image, numbers instead of texts where possible."""
    code = {name: i for i, name in enumerate(names)} | {"": -1}
    suspicious = {s.index for s in content.suspicions}
    flags = content.unreached * 1 + content.out_of_distribution * 2
    near = [[int(number[j]) for j in _neighbors(content, i) if number[j] >= 0] for i in shown]
    rows = shown.tolist()
    return {
        "files": [content.files[i] for i in rows],
        "label": [code[content.labels[i]] for i in rows],
        "runner": [code[content.runner_up[i]] for i in rows],
        "given": [code[content.given_labels[i]] for i in rows],
        "confidence": np.rint(content.confidence[shown] * 1000).astype(int).tolist(),
        "margin": np.rint(content.margin[shown] * 1000).astype(int).tolist(),
        "flags": [int(flags[i]) + 4 * (i in suspicious) for i in rows],
        "near": near,
    }
