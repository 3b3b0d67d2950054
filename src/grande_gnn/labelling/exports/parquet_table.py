"""``predictions.parquet``: the columns of ``predictions.csv`` with their types and all digits, for millions of rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from grande_gnn.errors import MissingDependencyError
from grande_gnn.labelling.exports.export import ClassIds, Export

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["PARQUET_TABLE"]


def _write(place: Path, labelling: Labelling, ids: ClassIds) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingDependencyError(
            'a Parquet file needs: pip install "grande-gnn[parquet]"; got no module pyarrow'
        ) from None
    names = pa.dictionary(pa.int32(), pa.string())  # each label is stored once
    columns: dict[str, Any] = {
        "file": pa.array(_valid(labelling.files), pa.string()),
        "label": pa.array(_valid(labelling.labels), pa.string()).cast(names),
        "label_id": pa.array([ids.get(label) for label in labelling.labels], pa.int32()),
        "confidence": pa.array(labelling.confidence, pa.float64()),
        "runner_up": pa.array(_valid(labelling.runner_up), pa.string()).cast(names),
        "margin": pa.array(labelling.margin, pa.float64()),
        "given_label": pa.array(_valid(labelling.given), pa.string()).cast(names),
        "flags": pa.array(labelling.flags(), pa.string()).cast(names),
    }
    if labelling.unfamiliar is not None:
        columns["unfamiliar"] = pa.array(labelling.unfamiliar, pa.float64())
    if labelling.copy_of is not None:
        columns["copy_of"] = pa.array(_valid(labelling.copy_of), pa.string())
    if labelling.label_sets is not None:
        columns["label_set"] = pa.array(
            [_valid(labels) for labels in labelling.label_sets], pa.list_(pa.string())
        )
    pq.write_table(pa.table(columns), place)


def _valid(names: list[str]) -> list[str]:
    r"""Names of files and folders that are not valid UTF-8 have lone surrogates, which no text column can hold: they
    become ``\udc..``."""
    return [name.encode("utf-8", "backslashreplace").decode("utf-8") for name in names]


PARQUET_TABLE = Export(
    "parquet", "predictions.parquet", "All columns with their types, for very large tables.", _write, for_texts=True
)  # fmt: skip
"""One Parquet file."""
