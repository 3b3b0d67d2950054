"""A labels file to fill in: every image with a blank label, the most useful ones first."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from grande_gnn.errors import OutputExistsError
from grande_gnn.images.atomic import atomic_path

__all__ = ["write_template"]


def write_template(path: str | Path, files: Iterable[str], *, overwrite: bool = False) -> None:
    """Write ``file,label`` rows with blank labels in the order of ``files``.

    An existing file is kept unless ``overwrite``: somebody may have filled it in.
    """
    if Path(path).exists() and not overwrite:
        raise OutputExistsError(
            "a template is not written over labels: choose another name or say --overwrite; "
            f"got {path}, which exists"
        )
    with (
        atomic_path(path) as part,
        open(part, "w", newline="", encoding="utf-8", errors="surrogateescape") as out,
    ):
        writer = csv.writer(out)
        writer.writerow(["file", "label"])
        writer.writerows([file, ""] for file in files)
