"""Labels for other tools: Label Studio tasks, and copies of the images in class folders.

The names in ``EXPORTS`` are the choices of ``--export``, so this module imports nothing heavy.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from grande_gnn.errors import InvalidInputError, OutputExistsError

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["EXPORTS", "check_copies", "copy_to_class_folders", "write_label_studio"]


def write_label_studio(path: str | Path, result: Labelling, root: Path | None = None) -> None:
    """Tasks for Label Studio with our labels as scored predictions; ``root`` is the folder of the images.

    Images are named for its local storage: set ``LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT=/`` and the labelling
    interface to an ``<Image name="image" value="$image"/>`` with ``<Choices name="label" toName="image">``.
    """
    from grande_gnn.internal.files import write_atomically

    folder = root or result.root
    if folder is None:
        raise InvalidInputError("Label Studio tasks name the images: give their folder as root; got none")
    tasks = []
    for file, label, confidence, given in zip(
        result.files, result.labels, result.confidence, result.given, strict=True
    ):
        place = str((folder / file).resolve()).lstrip("/")
        choice = {"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": [label]}}
        task: dict[str, object] = {
            "data": {"image": f"/data/local-files/?d={quote(os.fsencode(place))}", "file": file}
        }
        if given:
            task["annotations"] = [{"result": [choice]}]
        task["predictions"] = [
            {"model_version": "grande", "score": round(float(confidence), 4), "result": [choice]}
        ]
        tasks.append(task)
    text = json.dumps(tasks, indent=1)
    write_atomically(path, lambda out: out.write(text.encode("utf-8")))


EXPORTS: dict[str, tuple[str, Callable[[str | Path, Labelling], None]]] = {
    "label-studio": ("label-studio.json", write_label_studio),
}
"""Further formats for the labels: the name of the option, the file, and its writer."""


def check_copies(folder: str | Path) -> Path:
    """Refuse a folder for the copies that has files already; what a killed run left there is removed."""
    from grande_gnn.internal.swap import recover

    target = Path(folder)
    recover(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputExistsError(
            f"the folder for the copies must be new or empty: name another; got {target}, which has files"
        )
    return target


def copy_to_class_folders(folder: str | Path, result: Labelling, root: Path) -> int:
    """Copy every image into ``folder/<label>/``; nothing is moved, and an existing folder is refused.

    ``a/b.jpg`` becomes ``a_b.jpg``; a name that is taken, whatever its case, gets a number. The class folders appear
    when all copies are complete.
    """
    from grande_gnn.internal.files import write_folder

    def fill(part: Path) -> None:
        taken: set[str] = set()
        for file, label in zip(result.files, result.labels, strict=True):
            name = Path(file.replace("/", "_"))
            place, number = part / folder_name(label) / name, 1
            while str(place).casefold() in taken:
                number += 1
                place = place.with_name(f"{name.stem}_{number}{name.suffix}")
            taken.add(str(place).casefold())
            place.parent.mkdir(exist_ok=True)
            _copy(root / file, place)

    target = check_copies(folder)
    target.resolve().parent.mkdir(parents=True, exist_ok=True)
    write_folder(target, fill, sorted({folder_name(label) for label in result.labels}))
    return len(result.files)


def _copy(source: Path, place: Path) -> None:
    """Copy a file with its times; on a full disk the system may copy a part of it without an error."""
    shutil.copy2(source, place)
    copied, wanted = place.stat().st_size, source.stat().st_size
    if copied != wanted:
        raise OSError(errno.ENOSPC, f"{copied} of {wanted} bytes were copied (is the disk full?)", str(place))


def folder_name(label: str) -> str:
    """A label as the name of a folder: no separators, no leading dot.

    >>> folder_name("../a/b")
    '_.._a_b'
    """
    name = re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", label).strip() or "_"
    return f"_{name}" if name.startswith(".") else name
