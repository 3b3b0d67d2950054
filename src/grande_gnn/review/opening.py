"""Open a labelling for review: one that exists, one made from a folder of images, one whose folder has grown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import ImageSet, find_images
from grande_gnn.labelling.joining import join_new_images, new_images
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.run import label_images
from grande_gnn.labelling.start import start_labelling, with_features
from grande_gnn.labelling.steps import Progress, Step
from grande_gnn.labelling.text_labelling import label_texts, start_texts
from grande_gnn.review.session import Session
from grande_gnn.texts import are_texts, read_texts

__all__ = ["open_session"]


def open_session(
    out: str | Path,
    images: str | Path | None = None,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> Session:
    """The session on the labelling in ``out``.

    Parameters
    ----------
    out : the folder of a labelling.
    images : the folder of its images, or its texts. It is needed if ``out`` does not exist yet; the images are then
        labelled first, if at least two classes have labels. It is also needed if ``out`` does not name the folder, which
        results of version 0.1 do not.
    options : as for :func:`~grande_gnn.labelling.run.label_images`.
    progress : called with each :class:`~grande_gnn.labelling.run.Step`.
    """
    folder = Path(out)
    if not (folder / "predictions.csv").is_file():
        if images is None:
            raise InvalidInputError(
                "only the folder of a labelling can be reviewed: name one that grande label wrote, or start with "
                f"`grande review IMAGES -o OUT`; got {out}, which has no predictions.csv"
            )
        return Session(folder, _made(folder, Path(images), options, progress))
    labelling = Labelling.load(folder)
    if images is not None and labelling.texts is None:
        labelling = _with_root(labelling, Path(images))
    if labelling.classifier is not None and not any(labelling.given):
        raise InvalidInputError(
            "these images were labelled with the model of an earlier run, so there is nothing to train again: review the "
            f"earlier run, or label the images with labels of their own; got {out}"
        )
    if labelling.classifier is None:
        return Session(folder, with_features(labelling, options, progress))
    fresh = new_images(labelling, options.labels)
    if fresh is None:
        return Session(folder, labelling)
    return _joined(folder, labelling, fresh, options, progress)


def _joined(
    folder: Path, labelling: Labelling, fresh: ImageSet, options: LabelOptions, progress: Progress | None
) -> Session:
    """The session on the old and the new images, or on the old ones if the new ones cannot be added."""
    try:
        joined = join_new_images(labelling, fresh, options, progress)
    except InvalidInputError as error:
        session = Session(folder, labelling)
        session.problem = f"The new images in the folder are left out ({len(fresh)}): {error}"
        if progress is not None:
            progress(Step("find", message=session.problem))
        return session
    labels = dict(zip(joined.files, joined.given, strict=True))
    return Session(folder, joined, {file: labels[file] for file in fresh.files if labels.get(file)})


def _made(folder: Path, images: Path, options: LabelOptions, progress: Progress | None) -> Labelling:
    """A new labelling in ``folder``."""
    if are_texts(images):
        texts = read_texts(images, list(options.text), options.labels)
        make = label_texts if len({label for label in texts.labels if label}) > 1 else start_texts
        return make(texts, folder, options, progress)
    found = find_images(images, None if options.labels is None else Path(options.labels))
    if len(found.class_counts) > 1:
        return label_images(found, folder, options, progress)
    return start_labelling(found, folder, options, progress)


def _with_root(labelling: Labelling, images: Path) -> Labelling:
    """The labelling with another folder of images, in which at least one of its files must be."""
    if not any((images / file).is_file() for file in labelling.files):
        raise InvalidInputError(
            f"none of the {len(labelling.files)} files of the labelling is in that folder: name the folder of its images; "
            f"got {images}"
        )
    return replace(labelling, root=images)
