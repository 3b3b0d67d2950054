"""A folder that FiftyOne imports as an image classification dataset: ``data/`` with copies, and ``labels.json``.

    fiftyone.Dataset.from_dir(folder, dataset_type=fiftyone.types.FiftyOneImageClassificationDataset)

``labels.json`` maps the name of each copy, without its ending, to the number of its class, the confidence and the original
file, or to ``null`` if the image has no label.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grande_gnn.labelling.exports.class_ids import class_list
from grande_gnn.labelling.exports.copied_images import copy_numbered
from grande_gnn.labelling.exports.export import ClassIds, Export

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["FIFTYONE"]


def _write(place: Path, labelling: Labelling, ids: ClassIds) -> None:
    names = copy_numbered(place / "data", labelling, "a FiftyOne dataset")
    labels: dict[str, Any] = {}
    for row, name in enumerate(names):
        label = labelling.labels[row]
        labels[Path(name).stem] = None if not label else {
            "label": ids[label], "confidence": round(float(labelling.confidence[row]), 4),
            "attributes": {"file": labelling.files[row], "given": bool(labelling.given[row])},
        }  # fmt: skip
    content = {"classes": class_list(ids), "labels": labels}
    (place / "labels.json").write_text(json.dumps(content), encoding="utf-8")


FIFTYONE = Export("fiftyone", "fiftyone", "A folder with copies that FiftyOne imports.", _write)
"""A folder with copies of the images."""
