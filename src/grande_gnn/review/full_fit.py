"""The full training: its labels are exactly those of ``grande label`` with the same given labels and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.label_options import LabelOptions
from grande_gnn.labelling.relabel import relabel
from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.run import label_features

__all__ = ["full_fit"]


def full_fit(labelling: Labelling, labels: Mapping[str, str]) -> Labelling:
    """Label all images again, trained on ``labels`` (file to label) and on nothing else.

    Features, neighbors and settings stay as they are. A labelling without a model, such as one that was begun without any
    label, gets its first model, with automatic settings.
    """
    if labelling.classifier is not None:
        given = dict(zip(labelling.files, labelling.given, strict=True))
        wanted = {file: labels.get(file, "") for file in labelling.files}
        return relabel(labelling, {file: label for file, label in wanted.items() if label != given[file]})
    if labelling.neighbors is None:
        raise InvalidInputError(
            "the features of these images are unknown, so nothing can be trained: label them again; "
            f"got {len(labelling.files)} images without features"
        )
    seed = labelling.settings.get("seed", 0)
    options = LabelOptions(seed=seed if isinstance(seed, int) else 0)
    first = label_features(
        labelling.neighbors.features,
        [labels.get(file, "") for file in labelling.files],
        files=labelling.files,
        options=options,
    )
    network = {name: labelling.settings.get(name) for name in ("extractor", "weights")}
    kept = {name: getattr(labelling, name) for name in ("root", "problems", "texts", "thumbnails")}
    return replace(first, **kept, settings=first.settings | network)
