"""A folder that Hugging Face datasets loads as an ``imagefolder``: copies of the images and ``metadata.csv``.

    datasets.load_dataset("imagefolder", data_dir=folder)

The copies lie next to the table, which has the columns file_name (the copy), label, label_id, confidence, given and file
(the original).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grande_gnn.labelling.exports.copied_images import copy_numbered
from grande_gnn.labelling.exports.export import ClassIds, Export

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["HUGGING_FACE"]

COLUMNS = ("file_name", "label", "label_id", "confidence", "given", "file")


def _write(place: Path, labelling: Labelling, ids: ClassIds) -> None:
    from grande_gnn.internal.csv_file import write_csv

    names = copy_numbered(place, labelling, "a Hugging Face dataset")
    rows = zip(names, labelling.labels, labelling.confidence, labelling.given, labelling.files, strict=True)
    table = (
        [name, label, ids.get(label, ""), f"{sure:.4f}", str(bool(given)).lower(), file]
        for name, label, sure, given, file in rows
    )
    write_csv(place / "metadata.csv", COLUMNS, table)


HUGGING_FACE = Export("hugging-face", "hugging-face", "A folder with copies and metadata.csv.", _write)
"""A folder with copies of the images."""
