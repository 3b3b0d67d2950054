"""A labels file to fill in: every image with a blank label, the most useful ones first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grande_gnn.files import check_output
from grande_gnn.images.csv_file import write_csv

__all__ = ["write_template"]


def write_template(path: str | Path, files: Iterable[str], *, overwrite: bool = False) -> None:
    """Write ``file,label`` rows with blank labels in the order of ``files``.

    An existing file is kept unless ``overwrite``: somebody may have filled it in.
    """
    write_csv(check_output(path, overwrite), ["file", "label"], ([file, ""] for file in files))
