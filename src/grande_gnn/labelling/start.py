"""A labelling without labels: the start of a review of images that nobody has labelled yet."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from grande_gnn import __version__
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Neighbors
from grande_gnn.images import Extraction, ImageSet, default_extractor, find_images
from grande_gnn.labelling.calibration import Calibration
from grande_gnn.labelling.earlier_network import earlier_parts
from grande_gnn.labelling.folder import check_destination
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.run import extract_images
from grande_gnn.labelling.steps import Progress
from grande_gnn.labelling.text_labelling import with_text_features

__all__ = ["start_labelling", "with_features"]


def start_labelling(
    images: str | Path | ImageSet,
    out: str | Path | None = None,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> Labelling:
    """A labelling in which no image has a predicted label; labels that exist already are kept as given.

    Parameters are those of :func:`~grande_gnn.labelling.run.label_images`; of ``options``, those about images matter.
    """
    found = images if isinstance(images, ImageSet) else find_images(images, options.labels)
    if out is not None:
        check_destination(Path(out), [found.root], options.named_places, overwrite=options.overwrite)
    options = replace(options, extractor=options.extractor or default_extractor())
    extraction = extract_images(found, options, progress)
    labelling = _unlabelled(extraction, options)
    if out is not None:
        labelling.save(out, overwrite=options.overwrite)
    return labelling


def _unlabelled(extraction: Extraction, options: LabelOptions) -> Labelling:
    images = extraction.images
    n = len(images)
    sure = np.array([1.0 if label else 0.0 for label in images.labels])
    settings: dict[str, object] = {
        "version": __version__, "extractor": options.extractor, "weights": extraction.identity,
        "seed": options.seed, **asdict(Calibration()),
    }  # fmt: skip
    return Labelling(
        images.files, list(images.labels), sure, [""] * n, sure.copy(), list(images.labels),
        np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), root=images.root, problems=images.problems,
        settings=settings, neighbors=Neighbors(extraction.features(), device=options.device),
        thumbnails=lambda rows: extraction.thumbnails(list(rows)),
        note="Label images of at least two classes to have the others labelled.",
    )  # fmt: skip


def with_features(
    labelling: Labelling, options: LabelOptions = DEFAULT, progress: Progress | None = None
) -> Labelling:
    """A labelling without a model, with the features of its images: from the store, or extracted again.

    Images that are new in the folder are added; images that are gone are dropped.
    """
    if labelling.texts is not None:
        return with_text_features(labelling, options, progress)
    extractor = labelling.settings.get("extractor")
    if labelling.root is None or not isinstance(extractor, str):
        raise InvalidInputError(
            "neither these images nor their features can be found: label the images again; "
            "got a labelling without a model"
        )
    found = find_images(labelling.root)
    known = dict(zip(labelling.files, labelling.given, strict=True))
    if not known.keys() & set(found.files):
        raise InvalidInputError(
            f"the images of the labelling are gone: put them back; got none of them in {labelling.root}"
        )
    labels = [known.get(file, label) for file, label in zip(found.files, found.labels, strict=True)]
    again = replace(found, labels=labels)
    options = replace(options, extractor=extractor)
    parts = earlier_parts(labelling.settings, labelling.adapted_weights, options.weights)
    extraction = extract_images(again, options, progress, parts)
    fresh = _unlabelled(extraction, options)
    return replace(fresh, settings=labelling.settings)
