"""What the server sends to the page: the state of the session, details of images, changes and the map, as JSON."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np

from grande_gnn.labelling.exports import EXPORTS
from grande_gnn.labelling.result import Labelling
from grande_gnn.report.map import image_map
from grande_gnn.report.palette import class_colors
from grande_gnn.review.queues import QUEUES
from grande_gnn.review.session import Session

__all__ = ["changes_of", "details_of", "map_of", "state_of"]

SIMILAR = 8
"""Neighbors shown with an image."""

EXCERPT, NEAR_EXCERPT = 600, 160
"""Characters of a text that are sent with its details, and of texts similar to it."""

MAX_MAP = 20_000
"""Images on the map. If there are more, a random sample is shown and the page says so."""


def state_of(session: Session, since: int = 0) -> dict[str, Any]:
    """Everything that the page shows around the images; if the version is still ``since``, only whether a training runs."""
    session.refresh()
    with session.lock:
        training = session.retraining.is_busy
        if since == session.version:
            return {"version": since, "training": training}
        labels, state, full = session.labels(), session.state, session.full
        classes, counts = session.classes, Counter(labels)
        names = list(dict.fromkeys([*classes, *(name for name in counts if name)]))
        light, dark = class_colors(len(names)) if names else ([], [])
        accuracy = full.accuracy
        last = max((d.id for d in session.journal.decisions), default=0)
        view = session.view()
        return {
            "version": session.version,
            "title": full.root.resolve().name if full.root is not None else session.folder.resolve().name,
            "folder": str(session.folder),
            "n": len(session.files),
            "n_given": len(session.labels_to_train()),
            "n_decided": len(state.marks),
            "classes": [
                {"name": name, "count": counts[name], "light": light[i], "dark": dark[i]}
                for i, name in enumerate(names)
            ],
            "queues": [
                {
                    "name": queue.name, "title": queue.title, "about": full.said(queue.about), "look": queue.look,
                    "count": None if queue.count is None else queue.count(view),
                }
                for queue in QUEUES.values()
            ],
            "accuracy": None if accuracy is None else [accuracy.value, accuracy.low, accuracy.high],
            "note": full.said(full.note) if any(full.given) or len({*state.given.values()}) < 2 else "",
            "provisional": session.answer.is_provisional,
            "training": training,
            "problem": session.problem,
            "journal": session.journal.problems[:5],
            "changed": len(session.changes),
            "can_undo": state.last is not None,
            "is_written": session.written >= last,
            "has_pictures": full.root is not None or full.things != "images",
            "things": full.things,
            "exports": [name for name, export in EXPORTS.items() if full.texts is None or export.for_texts],
        }  # fmt: skip


def details_of(session: Session, rows: list[int]) -> dict[str, Any]:
    """What the page shows next to each of these images."""
    with session.lock:
        labels, answer, full, state = session.labels(), session.answer, session.full, session.state
    flags, lists = full.flags(), _lists(full)
    doubts = {doubt.row: doubt.label for doubt in full.suspicions}
    images = []
    for row in rows:
        file = session.files[row]
        provenance, when = state.provenance(file)
        near = lists[row, 1:].tolist() if lists is not None else []
        images.append({
            "row": row, "file": _readable(file), "text": _text(full, row), "label": labels[row],
            "confidence": round(float(answer.confidence[row]), 4), "runner_up": state.name(answer.runner_up[row]),
            "given": state.given.get(file, ""), "provenance": provenance, "when": when,
            "rejected": file in state.rejected, "skipped": file in state.skipped, "flags": flags[row],
            "suggested": state.name(doubts.get(row, "")), "before": session.changes.get(row, ""),
            "near": [
                {
                    "row": other, "label": labels[other], "known": session.files[other] in state.given,
                    "text": _text(full, other)[:NEAR_EXCERPT],
                }
                for other in near
            ],
        })  # fmt: skip
    return {"images": images, "version": session.version}


def _lists(full: Labelling) -> Any:
    return None if full.neighbors is None else full.neighbors.lists(SIMILAR + 1)


def _text(full: Labelling, row: int) -> str:
    """The beginning of a text or the name of a sample, which have no pictures; ``""`` for an image."""
    if full.things == "samples":
        return _readable(full.files[row])
    return "" if full.texts is None else _readable(full.texts[row][:EXCERPT])


def _readable(file: str) -> str:
    """A file name that may be sent: bytes that are not Unicode are shown as question marks."""
    return file.encode("utf-8", "replace").decode("utf-8")


def changes_of(session: Session) -> dict[str, Any]:
    """How often the latest training changed one label into another, the most frequent first."""
    with session.lock:
        labels = session.labels()
        pairs = Counter((old, labels[row]) for row, old in session.changes.items())
    return {"changes": [[old, new, count] for (old, new), count in pairs.most_common(50)]}


def map_of(session: Session) -> dict[str, Any]:
    """The position of each shown image, with its row number and its label's place among the classes."""
    with session.lock:
        labels, full, classes = session.labels(), session.full, state_classes(session)
        given = session.state.given
    if full.neighbors is None:
        return {"rows": [], "xy": [], "label": [], "known": [], "classes": classes}
    rows, xy = _positions(session.folder, full.neighbors)
    code = {name: i for i, name in enumerate(classes)}
    return {
        "rows": rows.tolist(),
        "xy": xy,
        "label": [code.get(labels[row], -1) for row in rows.tolist()],
        "known": [int(session.files[row] in given) for row in rows.tolist()],
        "classes": classes,
        "n": len(session.files),
    }


def state_classes(session: Session) -> list[str]:
    """The classes in the order of the page's colors."""
    return list(dict.fromkeys([*session.classes, *(name for name in Counter(session.labels()) if name)]))


@lru_cache(maxsize=1)
def _positions(folder: object, neighbors: Any) -> tuple[Any, list[int]]:
    """The shown rows and their positions as whole numbers; computed once, because features never change."""
    n = len(neighbors)
    rows = np.arange(n)
    if n > MAX_MAP:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:MAX_MAP])
    position, _ = image_map(neighbors.features[rows])
    return rows, np.rint(position * 9999).astype(int).ravel().tolist()
