"""A labels file to fill in: every image, those without a label first and the most useful of them on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from grande_gnn.internal.csv_file import write_csv
from grande_gnn.internal.files import check_output

__all__ = ["write_template"]


def write_template(
    path: str | Path, files: Iterable[str], known: Mapping[str, str] | None = None, *, overwrite: bool = False
) -> None:
    """Write ``file,label`` rows in the order of ``files``, with a blank label where none is ``known``.

    An existing file is kept unless ``overwrite``: somebody may have filled it in.
    """
    rows = ([file, (known or {}).get(file, "")] for file in files)
    write_csv(check_output(path, overwrite), ["file", "label"], rows)
