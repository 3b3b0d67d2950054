"""Find images and their labels in a folder.

Labels come from a CSV (see :mod:`~grande_gnn.images.labels_csv`) or, without one, from class folders::

    root/<class>/....jpg                 labelled
    root/....jpg, root/unlabeled/....jpg unlabelled
    root/train/<class>/....jpg           labelled: train, val and test are looked through
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from grande_gnn.errors import InvalidInputError
from grande_gnn.images.labels_csv import has_label_columns, read_label_csv
from grande_gnn.images.problems import Problem
from grande_gnn.images.walk import walk

__all__ = ["ImageSet", "find_images"]

_UNLABELLED = frozenset({"unlabeled", "unlabelled", "_unlabeled", "_unlabelled"})
_SPLITS = frozenset(
    {"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval", "evaluation"}
)


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels, in a stable order, and what was found besides."""

    root: Path
    files: list[str]
    """Paths relative to ``root``, with forward slashes, sorted."""
    labels: list[str]
    """The label of each file; ``""`` = unlabelled."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """How the folder was understood, as sentences."""

    def __len__(self) -> int:
        return len(self.files)

    @property
    def class_counts(self) -> dict[str, int]:
        """How many labelled images each class has, by name."""
        return dict(sorted(Counter(label for label in self.labels if label).items()))

    def paths(self) -> list[Path]:
        """Where the files lie."""
        return [self.root / file for file in self.files]


def find_images(folder: str | Path, labels: str | Path | None = None) -> ImageSet:
    """Find the images under ``folder`` and their labels.

    Parameters
    ----------
    folder : the folder with the images; links are followed.
    labels : a CSV with the columns ``file`` and ``label``. Without it, ``labels.csv`` in the
        folder, or the only CSV there with such columns, is used; else the class folders are.
    """
    root = Path(folder)
    if not root.is_dir():
        kind = "a file" if root.exists() else "no such path"
        raise InvalidInputError(f"images must lie in a folder; got {folder}, which is {kind}")
    found = walk(root)
    if not found.images:
        raise InvalidInputError(
            f"{folder} has no images (JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC, AVIF): is it the right folder? "
            f"got {len(found.others)} other file(s)"
        )
    table = Path(labels) if labels is not None else _labels_file(root, found.others)
    if table is not None:
        if not table.is_file():
            raise InvalidInputError(f"the labels file must exist; got {table}, which is no file")
        names, problems = read_label_csv(table, root, found.images)
        notes = [f"Labels are those of {table}."]
    else:
        names, notes = _folder_labels(found.images)
        problems = []
    others = [Problem(file, "not an image") for file in found.others if table is None or root / file != table]
    return ImageSet(root, found.images, names, [*found.problems, *others, *problems], notes)


def _labels_file(root: Path, others: list[str]) -> Path | None:
    tables = [file for file in others if "/" not in file and file.casefold().endswith(".csv")]
    tables = [file for file in tables if has_label_columns(root / file)]
    if "labels.csv" in tables:
        return root / "labels.csv"
    if len(tables) > 1:
        raise InvalidInputError(
            f"{root} has several CSV files with labels: say which one with --labels; got {', '.join(tables)}"
        )
    return root / tables[0] if tables else None


def _folder_labels(files: list[str]) -> tuple[list[str], list[str]]:
    """Labels from class folders, and sentences on how they were read."""
    notes = []
    folders = [file.split("/")[:-1] for file in files]
    # A lone folder that holds everything is a wrapper, not a class.
    while len({tuple(parts[:1]) for parts in folders}) == 1 and folders[0]:
        notes.append(f"All images lie in the folder {folders[0][0]}, which is not taken as a class.")
        folders = [parts[1:] for parts in folders]
    first = Counter(parts[0] for parts in folders if parts and parts[0].casefold() not in _UNLABELLED)
    if (
        first
        and all(name.casefold() in _SPLITS for name in first)
        and any(len(parts) > 1 for parts in folders)
    ):
        parts_found = ", ".join(f"{name} ({count} images)" for name, count in sorted(first.items()))
        notes.append(
            f"The folders {parts_found} are parts of one set: the classes are the folders inside them."
        )
        folders = [parts[1:] if parts and parts[0] in first else parts for parts in folders]
    elif first:
        notes.append("Labels are the names of the class folders.")
    return ["" if not parts or parts[0].casefold() in _UNLABELLED else parts[0] for parts in folders], notes
