"""A CSV with the file, its label and the number of its class: ``--labels`` reads it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grande_gnn.labelling.exports.export import ClassIds, Export

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["PLAIN_CSV"]


def _write(place: Path, labelling: Labelling, ids: ClassIds) -> None:
    from grande_gnn.internal.csv_file import write_csv

    rows = zip(labelling.files, labelling.labels, strict=True)
    write_csv(
        place, ["file", "label", "label_id"], ([file, label, ids.get(label, "")] for file, label in rows)
    )


PLAIN_CSV = Export(
    "csv", "grande-labels.csv", "A table of files, labels and class numbers.", _write, for_texts=True
)
"""One CSV file."""
