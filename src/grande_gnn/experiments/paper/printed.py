"""The paper's printed numbers: ``table1.csv``, ``table2.csv`` and ``table3.csv`` in this folder.

They are package data, so that an installed ``grande table`` can compare its own numbers with them. Every number, including
the gains, is as printed; ``docs/deviations.md`` names the one that disagrees with its own row.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

__all__ = ["FEATURES", "paper_features", "paper_row", "read_table"]

FEATURES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ResNet": ("resnet", "resnet152"),
        "SENet": ("senet", "senet154"),
        "DPNet": ("dpnet", "dpnet92", "dpn92"),
        "ViT-B16": ("vit", "vit-b16", "vit_b16", "vitb16"),
    }
)
"""The paper's four feature extractors and the names that a file of their features may have."""

_DATASETS = {
    "flowers17": ("Flowers17", "Flowers"),
    "corel5k": ("Corel5K", "Corel5k"),
    "pets": ("Pets",),
    "cub200": ("CUB200",),
    "dogs": ("Dogs",),
}


@cache
def read_table(number: int) -> tuple[Mapping[str, str], ...]:
    """The rows of table 1, 2 or 3 as printed: column name → text, empty where the paper has no number."""
    text = (files("grande_gnn.experiments.paper") / f"table{number}.csv").read_text(encoding="utf-8")
    return tuple(MappingProxyType(row) for row in csv.DictReader(text.splitlines()))


def paper_features(name: str) -> str | None:
    """The paper's column for features of that name; None if it has none.

    >>> paper_features("resnet152"), paper_features("resnet50")
    ('ResNet', None)
    """
    return next((title for title, names in FEATURES.items() if name.lower() in names), None)


def paper_row(number: int, dataset: str, features: str | None, **where: str) -> Mapping[str, str] | None:
    """The printed row of a dataset (our name), a feature column (the paper's) and other equal columns.

    >>> paper_row(1, "flowers17", "ResNet", gnn="APPNP")["grande"]
    '86.19'
    """
    for row in read_table(number):
        same = row["dataset"] in _DATASETS.get(dataset, ()) and row["features"] == features
        if same and all(row[column] == value for column, value in where.items()):
            return row
    return None
