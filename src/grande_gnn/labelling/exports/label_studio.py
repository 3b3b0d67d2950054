"""Tasks for Label Studio with our labels as scored predictions, and given labels as annotations."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from grande_gnn.labelling.exports.export import ClassIds, Export, images_folder

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["LABEL_STUDIO", "write_label_studio"]


def write_label_studio(path: str | Path, result: Labelling, root: Path | None = None) -> None:
    """Write the tasks; ``root`` is the folder of the images.

    Images are named for its local storage: set ``LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT=/`` and the labelling
    interface to an ``<Image name="image" value="$image"/>`` with ``<Choices name="label" toName="image">``; for texts, to a
    ``<Text name="text" value="$text"/>`` with ``<Choices name="label" toName="text">``.
    """
    from grande_gnn.internal.files import write_atomically

    kind = "image" if result.texts is None else "text"
    shown = result.texts or _places(result, root)
    tasks = []
    for file, content, label, confidence, given in zip(
        result.files, shown, result.labels, result.confidence, result.given, strict=True
    ):
        task: dict[str, Any] = {"data": {kind: content, "file": file}}
        value = {"choices": [label]}
        choice = [{"from_name": "label", "to_name": kind, "type": "choices", "value": value}]
        if given:
            task["annotations"] = [{"result": choice}]
        if label:
            score = round(float(confidence), 4)
            task["predictions"] = [{"model_version": "grande", "score": score, "result": choice}]
        tasks.append(task)
    text = json.dumps(tasks, indent=1)
    write_atomically(path, lambda out: out.write(text.encode("utf-8")))


def _places(result: Labelling, root: Path | None) -> list[str]:
    """The address of each image in Label Studio's local storage."""
    folder = images_folder(result if root is None else replace(result, root=root), "Label Studio")
    paths = (str((folder / file).resolve()).lstrip("/") for file in result.files)
    return [f"/data/local-files/?d={quote(os.fsencode(path))}" for path in paths]


def _write(place: Path, labelling: Labelling, ids: ClassIds) -> None:
    write_label_studio(place, labelling)


LABEL_STUDIO = Export(
    "label-studio", "label-studio.json", "Tasks for Label Studio with predictions.", _write, for_texts=True
)
"""One JSON file of tasks."""
