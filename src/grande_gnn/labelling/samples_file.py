"""Samples of any kind from a features file: texts, sounds, spectra, cells, or images whose features somebody extracted.

A features file (``.npz``) holds ``features``, optionally ``files`` (a name for each sample) and ``labels``
(:mod:`grande_gnn.internal.features_file`). Labels may come from a CSV instead, whose first column then names samples.

If the names are those of files in the folder of the features file, the report links to them and the review page shows them;
if they are images, the report shows them too. No name leads out of that folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from grande_gnn.errors import InvalidInputError
from grande_gnn.images.labels_csv import read_label_csv
from grande_gnn.images.problems import Problem
from grande_gnn.internal.features_file import FeaturesFile, load_features
from grande_gnn.internal.validation import as_label_array, is_unlabelled
from grande_gnn.labelling.exports import EXPORTS, export_names
from grande_gnn.labelling.exports.label_studio import LABEL_STUDIO
from grande_gnn.labelling.folder import check_destination, thumbnails_if_images
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.pending import tell_if_review_is_kept
from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.run import label_features
from grande_gnn.labelling.steps import Progress, silent
from grande_gnn.labelling.suggest import DEFAULT_STRATEGY, suggest

__all__ = ["label_file", "suggest_for_file"]

_FIRST = 10
"""Samples whose names tell whether all of them are files."""


def label_file(
    file: str | Path,
    out: str | Path | None = None,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> Labelling:
    """Label the samples of a features file, of which some have a label in the file or in ``options.labels``.

    Parameters
    ----------
    file : the ``.npz`` file.
    out : folder for the results, as :meth:`Labelling.save` writes it; None: nothing is written.
    options : those about the extraction of features do not matter.
    progress : called with each :class:`~grande_gnn.labelling.run.Step`.
    """
    path = Path(file)
    _refuse_copies(options)
    if out is not None:
        check_destination(
            Path(out), [], options.named_places | {"features": path}, overwrite=options.overwrite
        )
    tell_if_review_is_kept(out, progress or silent)
    content = load_features(path, sparse=True)
    labels, problems = _labels_of(path, content, options)
    root = _folder_of_images(path, content.files.tolist())
    if root is None:
        _check_exports(path, options)
    if is_unlabelled(as_label_array(labels)).all():
        empty = f"{options.labels}, in which no label is filled in" if options.labels else ""
        raise InvalidInputError(
            f"none of the {len(content.files)} samples is labelled: `grande label {path} --template labels.csv` writes "
            f"a file to fill in and pass with --labels; got {empty or f'no label in {path.name}'}"
        )
    result = label_features(
        content.features, labels, files=content.files.tolist(), options=replace(options, export=()),
        progress=progress, copy=False,
    )  # fmt: skip
    pictures = None if root is None else thumbnails_if_images(root, result.files)
    result = replace(result, root=root, problems=problems, thumbnails=pictures)
    if out is not None:
        result.save(out, overwrite=options.overwrite, export=options.export)
    return result


def suggest_for_file(
    file: str | Path, options: LabelOptions = DEFAULT, strategy: str = DEFAULT_STRATEGY
) -> dict[str, str]:
    """All samples with their labels, in the order in which they are worth labelling, as
    :func:`~grande_gnn.labelling.suggest.suggest_labels` does for images.
    """
    path = Path(file)
    content = load_features(path, sparse=True)
    labels, _ = _labels_of(path, content, options)
    unknown = is_unlabelled(as_label_array(labels))
    order = suggest(content.features, strategy=strategy, labels=labels, random_state=options.seed)
    names = content.files.tolist()
    return {names[i]: "" for i in order} | {
        names[i]: str(labels[i]) for i in np.flatnonzero(~unknown).tolist()
    }


def _labels_of(path: Path, content: FeaturesFile, options: LabelOptions) -> tuple[Any, list[Problem]]:
    """The labels of the CSV, or else those of the file."""
    if options.labels is not None:
        return read_label_csv(Path(options.labels), path.parent, content.files.tolist())
    if content.labels is None:
        return [""] * len(content.files), []
    return content.labels, []


def _folder_of_images(path: Path, files: list[str]) -> Path | None:
    """The folder of the features file if the samples are files in it; None also if any name leads out of it."""
    if any(name.is_absolute() or ".." in name.parts for name in map(PurePath, files)):
        return None
    try:
        return path.parent if all((path.parent / name).is_file() for name in files[:_FIRST]) else None
    except (OSError, ValueError):  # names that no file can have
        return None


def _check_exports(path: Path, options: LabelOptions) -> None:
    """Refuse formats that show or copy the samples, which are not files: tables of their names remain."""
    tables = [name for name, export in EXPORTS.items() if export.for_texts and export is not LABEL_STUDIO]
    for name in export_names(options.export):
        if name not in tables:
            raise InvalidInputError(
                f"the format {name} needs files, and the samples of {path.name} are not files in its folder: they can be "
                f"exported as {', '.join(tables)}; got {name!r}"
            )


def _refuse_copies(options: LabelOptions) -> None:
    if options.copy_to is not None:
        raise InvalidInputError(
            "samples of a features file cannot be copied into class folders: leave --copy-to out, or label the folder of "
            f"images; got {options.copy_to}"
        )
