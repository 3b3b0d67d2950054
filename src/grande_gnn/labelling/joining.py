"""New images in the folder of a labelling: they are added to it, and no decision is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.base import clone

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import ImageSet, find_images
from grande_gnn.labelling.assess import assess
from grande_gnn.labelling.earlier_network import earlier_parts, with_doubt
from grande_gnn.labelling.folder import thumbnails_in
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.model_settings import RECALL, model_settings
from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.run import extract_images
from grande_gnn.labelling.steps import Progress, Step, counted

__all__ = ["join_new_images", "new_images"]


def new_images(labelling: Labelling, labels: str | Path | None = None) -> ImageSet | None:
    """The images in the folder of the labelling that it does not know, with their labels; None if there are none."""
    if labelling.root is None or not labelling.root.is_dir() or not labelling.settings.get("extractor"):
        return None
    known = {*labelling.files, *(problem.file for problem in labelling.problems)}
    try:
        found = find_images(labelling.root, labels)
    except InvalidInputError:  # the folder is empty by now
        return None
    fresh = [
        (file, label) for file, label in zip(found.files, found.labels, strict=True) if file not in known
    ]
    if not fresh:
        return None
    return replace(
        found, files=[file for file, _ in fresh], labels=[label for _, label in fresh], problems=[]
    )


def join_new_images(
    labelling: Labelling, fresh: ImageSet, options: LabelOptions = DEFAULT, progress: Progress | None = None
) -> Labelling:
    """The labelling of the old and the new images, trained with the same settings on the labels of both.

    The features of the old images are those of the model, so an image that is gone by now stays in the labelling.
    """
    clf = labelling.classifier
    if clf is None:
        raise InvalidInputError(
            "new images can only be added to a labelling that has a model: label the images again; got one without a model"
        )
    _check_graph(labelling)
    options = replace(options, extractor=str(labelling.settings["extractor"]))
    parts = earlier_parts(labelling.settings, labelling.adapted_weights, options.weights)
    extraction = extract_images(fresh, options, progress, parts)
    if progress is not None:
        progress(Step("train", message=f"{len(extraction.images)} new images are added to the labelling."))
    features = np.concatenate([clf.features_[: len(labelling.files)], extraction.features()])
    files = [*labelling.files, *extraction.images.files]
    labels = [*labelling.given, *extraction.images.labels]
    coverage = None if labelling.sets_made is None else labelling.sets_made.coverage
    with counted(progress):
        result = assess(clone(clf).fit(features, labels), labels, files, coverage=coverage)
    result = with_doubt(result, labelling.settings)
    # The neighbors were searched anew, perhaps exactly this time.
    earlier = {name: value for name, value in labelling.settings.items() if name != RECALL}
    return replace(
        result,
        root=labelling.root,
        problems=[*labelling.problems, *extraction.images.problems],
        settings=earlier | model_settings(result),
        adapted_weights=labelling.adapted_weights,
        thumbnails=thumbnails_in(fresh.root, files),
    )


def _check_graph(labelling: Labelling) -> None:
    """Refuse a graph or ranked lists from a file, which do not have the new images."""
    for name, what in (("graph_file", "graph"), ("lists_file", "ranked lists")):
        if file := labelling.settings.get(name):
            raise InvalidInputError(
                f"new images cannot be added to a labelling whose {what} came from a file, which does not have them: label "
                f"again with a file that has the new images; got {file}"
            )
