"""A text that shows what was found in a folder: classes, counts and example rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from grande_gnn.images.find import ImageSet
from grande_gnn.images.problems import count_problems
from grande_gnn.internal.moved import moved_name

__all__ = ["summarize"]

_WIDEST = 80
"""Characters of a name that are shown."""


def summarize(images: ImageSet, n_examples: int = 10) -> str:
    """The classes, their counts, and ``n_examples`` rows spread evenly over the files, as text to print."""
    counts = images.class_counts
    labelled = sum(counts.values())
    lines = [
        f"{len(images)} {'image' if len(images) == 1 else 'images'} in {images.root}: "
        f"{labelled} labelled in {len(counts)} {'class' if len(counts) == 1 else 'classes'}, "
        f"{len(images) - labelled} unlabelled.",
        *images.notes,
    ]
    if counts:
        lines += [
            "",
            *_table([("class", "labelled"), *((name, str(count)) for name, count in counts.items())]),
        ]
    chosen = np.unique(np.linspace(0, len(images) - 1, min(n_examples, len(images))).round().astype(int))
    examples = [(images.files[i], images.labels[i] or "(unlabelled)") for i in chosen]
    lines += ["", *_table([("file", "label"), *examples])]
    if images.problems:
        lines += [
            "",
            *_table([("problem", "files"), *((k, str(n)) for k, n in count_problems(images.problems))]),
        ]
    return "\n".join(lines)


def _table(rows: list[tuple[str, str]]) -> list[str]:
    shown = [tuple(map(_cell, row)) for row in rows]
    width = max(len(first) for first, _ in shown)
    return [f"  {first:<{width}}  {second}" for first, second in shown]


def _cell(text: str) -> str:
    """A name in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…"


def __getattr__(name: str) -> Any:  # the spelling of version 0.1
    return moved_name(__name__, name)
