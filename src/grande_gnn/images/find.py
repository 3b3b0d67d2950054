"""Find images and their labels in a folder.

Every regular file is found once: links are followed and loops are cut. Folders with results of earlier labellings are left
out. Labels come from a CSV (see :mod:`~grande_gnn.images.labels_csv`) or, if there is none, from class folders::

    root/<class>/....jpg                 labelled
    root/....jpg, root/unlabeled/....jpg unlabelled
    root/train/<class>/....jpg           labelled: train, val and test are not classes
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from grande_gnn.errors import InvalidInputError
from grande_gnn.images.labels_csv import has_label_columns, label_notes, label_source, read_label_csv
from grande_gnn.images.problems import Problem

__all__ = ["FolderFiles", "ImageSet", "find_images", "find_samples", "has_image_suffix", "walk"]

_UNLABELLED = frozenset({"unlabeled", "unlabelled", "_unlabeled", "_unlabelled"})
_SPLITS = frozenset(
    {"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval", "evaluation"}
)
_SUFFIX = re.compile(
    r"\.(jpe?g|jpe|jfif|png|webp|gif|bmp|tiff?|hei[cf]|hif|avif|mpo|jp2|p[bgnp]m)", re.IGNORECASE
)
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"II*\0", b"MM\0*")
_HIDDEN = frozenset({"thumbs.db", "desktop.ini", "__macosx"})
"""Files that operating systems leave in folders; they are skipped silently, like names that start with a dot."""
_RESULT = frozenset({"predictions.csv", "settings.json", "model"})
"""What a folder holds that a labelling was written to. Its exports may be copies of the images, sorted by predicted label:
read as class folders, they would contradict the labels of the originals."""


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels, in a stable order, and the problems that were found."""

    root: Path
    files: list[str]
    """Paths relative to ``root``, with forward slashes, sorted."""
    labels: list[str]
    """The label of each file; ``""`` = unlabelled."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences that explain how the folder was understood."""

    def __len__(self) -> int:
        return len(self.files)

    @property
    def class_counts(self) -> dict[str, int]:
        """The number of labelled images of each class, sorted by name."""
        return dict(sorted(Counter(label for label in self.labels if label).items()))

    def paths(self) -> list[Path]:
        """The paths of the files, starting with ``root``."""
        return [self.root / file for file in self.files]


def find_images(
    folder: str | Path, labels: str | Path | None = None, *, uses_labels: bool = True
) -> ImageSet:
    """Find the images under ``folder`` and their labels.

    Parameters
    ----------
    folder : the folder with the images; links are followed.
    labels : a CSV with the columns ``file`` and ``label``. If it is not given, ``labels.csv`` in the
        folder, or the only CSV there with such columns, is used; otherwise the class folders are.
    uses_labels : whether labels are looked for; without them, all images are unlabelled.
    """
    root = Path(folder)
    if not root.is_dir():
        kind = "is a file" if root.exists() else "does not exist"
        raise InvalidInputError(f"images must be in a folder; got {folder}, which {kind}")
    return find_samples(
        root, labels, lambda found: (found.images, found.others),
        "images (JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC, AVIF)", "an image", uses_labels=uses_labels,
    )  # fmt: skip


def find_samples(
    root: Path,
    labels: str | Path | None,
    choose: Callable[[FolderFiles], tuple[list[str], list[str]]],
    wanted: str,
    one: str,
    *,
    uses_labels: bool = True,
) -> ImageSet:
    """Find the files under ``root`` that ``choose`` selects, and their labels unless they are not wanted.

    ``choose`` divides the files into samples and others; ``wanted`` and ``one`` are the words for samples in messages.
    """
    found = walk(root)
    samples, others = choose(found)
    if not samples:
        left_out = f" ({' '.join(found.notes).rstrip('.')})" if found.notes else ""
        raise InvalidInputError(
            f"{root} has no {wanted}{left_out}: is it the right folder? got {len(others)} other file(s)"
        )
    if not uses_labels:
        tables = _label_tables(root, others)
        rest = [Problem(file, f"not {one}") for file in others if file not in tables]
        return ImageSet(root, samples, [""] * len(samples), [*found.problems, *rest], found.notes)
    table = Path(labels) if labels is not None else _labels_file(root, others)
    if table is not None:
        if not table.is_file():
            raise InvalidInputError(f"the labels file must be an existing file; got {table}")
        names, problems = read_label_csv(table, root, samples)
        notes = [label_source(table), *label_notes(names)]
    else:
        names, notes = _folder_labels(samples)
        problems = []
    rest = [Problem(file, f"not {one}") for file in others if table is None or root / file != table]
    return ImageSet(root, samples, names, [*found.problems, *rest, *problems], [*notes, *found.notes])


def _label_tables(root: Path, others: list[str]) -> list[str]:
    """The CSV files in the folder itself that have columns of files and labels."""
    tables = [file for file in others if "/" not in file and file.casefold().endswith(".csv")]
    return [file for file in tables if has_label_columns(root / file)]


def _labels_file(root: Path, others: list[str]) -> Path | None:
    tables = _label_tables(root, others)
    if "labels.csv" in tables:
        return root / "labels.csv"
    if len(tables) > 1:
        raise InvalidInputError(
            f"{root} has several CSV files with labels: choose one with --labels; got {', '.join(tables)}"
        )
    return root / tables[0] if tables else None


def _folder_labels(files: list[str]) -> tuple[list[str], list[str]]:
    """Labels from class folders, and sentences that explain how the folders were read."""
    notes = []
    folders = [file.split("/")[:-1] for file in files]
    # A lone folder that holds everything is a wrapper, not a class.
    while len({tuple(parts[:1]) for parts in folders}) == 1 and folders[0]:
        notes.append(f"All images are in the folder {folders[0][0]}, which is not taken as a class.")
        folders = [parts[1:] for parts in folders]
    first = Counter(parts[0] for parts in folders if parts and parts[0].casefold() not in _UNLABELLED)
    if (
        first
        and all(name.casefold() in _SPLITS for name in first)
        and any(len(parts) > 1 for parts in folders)
    ):
        splits = ", ".join(f"{name} ({count} images)" for name, count in sorted(first.items()))
        notes.append(f"The folders {splits} are splits of one set: the classes are the folders inside them.")
        folders = [parts[1:] if parts and parts[0] in first else parts for parts in folders]
    elif first:
        notes.append("Labels are the names of the class folders.")
    return ["" if not parts or parts[0].casefold() in _UNLABELLED else parts[0] for parts in folders], notes


@dataclass
class FolderFiles:
    """The files of a folder; paths are relative to it, with forward slashes, sorted."""

    images: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Regular files that are not images, judging by their names and their first bytes."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences about folders that were left out."""


def walk(root: Path) -> FolderFiles:
    """List the files under ``root``.

    Folders are visited before links to folders. A link to a folder that has been visited already, which includes every loop,
    is not followed but listed as a problem; so is a link to a folder that holds ``root`` or the link. Folders below ``root``
    with the results of a labelling are left out.
    """
    found = FolderFiles()
    visited: set[tuple[int, int]] = set()
    folders, links = [""], deque[str]()
    while folders or links:
        is_link = not folders
        folder = links.popleft() if is_link else folders.pop()
        try:
            info = os.stat(root / folder)
            if (info.st_dev, info.st_ino) in visited:
                found.problems.append(Problem(folder, "link to a folder that is already included"))
                continue
            if is_link and _leads_up(root, folder):
                found.problems.append(Problem(folder, "link to a folder that holds the link or the images"))
                continue
            visited.add((info.st_dev, info.st_ino))
            with os.scandir(root / folder) as entries:
                names = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            found.problems.append(Problem(folder, f"folder cannot be opened: {error.strerror}"))
            continue
        if folder and {entry.name for entry in names} >= _RESULT:
            found.notes.append(f"{folder}/ holds results of grande label, so its files are left out.")
            continue
        for entry in names:
            _sort_entry(entry, f"{folder}/{entry.name}" if folder else entry.name, found, folders, links)
    found.images.sort()
    found.others.sort()
    found.notes.sort()
    return found


def _leads_up(root: Path, link: str) -> bool:
    """Whether a link leads to a folder that holds ``root`` or the link: what else lies there was not meant to be a class."""
    target = os.path.realpath(root / link)
    inside = (os.path.realpath(root), os.path.realpath((root / link).parent))
    return any(Path(place).is_relative_to(target) for place in inside)


def _sort_entry(
    entry: os.DirEntry[str], path: str, found: FolderFiles, folders: list[str], links: deque[str]
) -> None:
    if entry.name.startswith(".") or entry.name.casefold() in _HIDDEN:
        return
    try:
        mode = entry.stat().st_mode
        if stat.S_ISDIR(mode):
            (links if entry.is_symlink() else folders).append(path)
        elif not stat.S_ISREG(mode):  # opening a named pipe would wait forever
            found.problems.append(Problem(path, "not a regular file"))
        elif has_image_suffix(entry.name) or _starts_like_image(entry.path):
            found.images.append(path)
        else:
            found.others.append(path)
    except OSError as error:
        kind = "broken link" if entry.is_symlink() else "cannot be opened"
        found.problems.append(Problem(path, f"{kind}: {error.strerror}"))


def has_image_suffix(name: str) -> bool:
    """Whether a file is taken for an image because of its name alone."""
    return _SUFFIX.fullmatch(os.path.splitext(name)[1]) is not None


def _starts_like_image(path: str) -> bool:
    """Whether the first bytes are those of an image, whatever the file's suffix is."""
    with open(path, "rb") as file:
        head = file.read(12)
    return head.startswith(_MAGIC) or (head[:4] == b"RIFF" and head[8:] == b"WEBP")
