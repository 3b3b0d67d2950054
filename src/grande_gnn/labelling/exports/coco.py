"""COCO's JSON for classification: images, categories, and one annotation per labelled image, without boxes.

``score`` is the confidence; ``given`` says whether a person gave the label. Files are named relative to the folder of the
images. Sizes are included for images that can be read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grande_gnn.labelling.exports.export import ClassIds, Export

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["COCO"]


def _write(place: Path, labelling: Labelling, ids: ClassIds) -> None:
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, file in enumerate(labelling.files, start=1):
        images.append({"id": number, "file_name": file} | _size(labelling.root, file))
        label = labelling.labels[number - 1]
        if label:
            annotations.append({
                "id": len(annotations) + 1, "image_id": number, "category_id": ids[label],
                "score": round(float(labelling.confidence[number - 1]), 4), "given": bool(labelling.given[number - 1]),
            })  # fmt: skip
    categories = [{"id": number, "name": name, "supercategory": ""} for name, number in ids.items()]
    content = {
        "info": {},
        "licenses": [],
        "images": images,
        "annotations": annotations,
        "categories": categories,
    }
    place.write_text(json.dumps(content), encoding="utf-8")


def _size(root: Path | None, file: str) -> dict[str, int]:
    """Width and height, from the header of the file; nothing if there is no such image."""
    from PIL import Image

    if root is None:
        return {}
    try:
        with Image.open(root / file) as image:
            return {"width": image.width, "height": image.height}
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return {}


COCO = Export("coco", "coco.json", "COCO's JSON for classification.", _write)
"""One JSON file."""
