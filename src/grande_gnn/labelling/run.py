"""Label images from Python: whatever ``grande label`` does, these functions do.

>>> from grande_gnn import LabelOptions, label_images
>>> result = label_images("photos/", "out/", LabelOptions(model="sgc"))        # doctest: +SKIP
>>> better = result.corrected({"rose/17.jpg": "tulip"})                        # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from grande_gnn import __version__
from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.engine import as_degree
from grande_gnn.engine.degrees import is_registered
from grande_gnn.errors import InvalidInputError
from grande_gnn.images import (
    Extraction,
    Extractor,
    ImageSet,
    default_extractor,
    extract_parts,
    find_images,
    load_parts,
)
from grande_gnn.internal.swap import recover
from grande_gnn.internal.validation import check_features, check_sparse
from grande_gnn.labelling.adapt_checks import check_adaptation
from grande_gnn.labelling.assess import assess_new
from grande_gnn.labelling.cluster_training import train_and_assess, train_on_cluster
from grande_gnn.labelling.earlier_network import ADAPTED_FILE, adapted_file, earlier_parts
from grande_gnn.labelling.exports import check_copies, copy_to_class_folders
from grande_gnn.labelling.folder import check_destination, read_calibration, read_settings, write_labelling
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.model_settings import model_settings
from grande_gnn.labelling.needs import check_label_memory, n_classes, training_memory
from grande_gnn.labelling.old_signature import accepts_old_signature
from grande_gnn.labelling.pending import tell_if_model_is_older, tell_if_review_is_kept
from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.steps import Progress, Step, counted, silent

__all__ = ["Progress", "Step", "extract_images", "label_features", "label_images", "reuse"]

Place = str | Path


def label_images(
    images: Place | ImageSet,
    out: Place | None = None,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> Labelling:
    """Label the images of a folder, of which some have a label.

    Parameters
    ----------
    images : the folder, or what :func:`~grande_gnn.images.find_images` found in it.
    out : folder for the results, as :meth:`Labelling.save` writes it; None: nothing is written.
    options : see :class:`LabelOptions`.
    progress : called with each :class:`Step`.
    """
    tell = progress or silent
    found = _find(images, options, tell)
    _check_out(out, options, found.root)
    tell_if_review_is_kept(out, tell)
    if not found.class_counts:
        same = f" --extractor {options.extractor}" if options.extractor else ""
        empty = f"{options.labels}, in which no label is filled in" if options.labels else ""
        raise InvalidInputError(
            f"none of the {len(found)} images is labelled: `grande label {found.root} --template labels.csv{same}` writes a "
            f"file to fill in, the most useful images first; got {empty or 'no class folders and no CSV with labels'}"
        )
    options = replace(options, extractor=options.extractor or default_extractor())
    check_adaptation(options, len(found))
    extraction = extract_images(found, options, tell)
    usable = extraction.images
    if not usable.class_counts:
        last = usable.problems[-1]
        raise InvalidInputError(
            f"no label is left, because the labelled images cannot be read or are copies with different labels: repair "
            f"them or their labels; got {last.reason} ({last.file})"
        )
    if lost := [name for name in found.class_counts if name not in usable.class_counts]:
        named = f"{'class' if len(lost) == 1 else 'classes'} {', '.join(lost)}"
        tell(Step("extract", message=f"No label is left of the {named}: see the problems that are listed."))
    result = _labelled(extraction.features(), usable.labels, usable.files, options, None, tell)
    if options.adaptation is not None:
        return _finished(_adapted(result, extraction, options, tell), out, options, tell)
    return _finished(_with_images(result, extraction, options), out, options, tell)


@accepts_old_signature
def label_features(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    files: Sequence[str] | None = None,
    out: Place | None = None,
    options: LabelOptions = DEFAULT,
    graph: Any = None,
    progress: Progress | None = None,
    copy: bool = True,
) -> Labelling:
    """Label samples whose features you have.

    Parameters
    ----------
    features : array of shape (n_samples, n_features), or a scipy sparse matrix.
    labels : one per sample; ``""``, ``None``, ``NaN`` or ``-1`` for the unlabelled.
    files : a name for each sample, all different; None: its number.
    out : folder for the results; None: nothing is written.
    options : those about images (labels, extractor, weights, workers, store, copy_to) do not matter; no network can be
        adapted.
    graph : a ready :class:`~grande_gnn.Graph`, scipy sparse matrix or ranked lists instead of a search for neighbors.
    progress : called with each :class:`Step`.
    copy : whether features of type float32 are copied; with False they are kept and their negative zeros become positive.
    """
    tell = progress or silent
    if options.adaptation is not None:
        raise InvalidInputError(
            "features come without the network that could be adapted: leave out adapt, or label the images themselves; "
            f"got adapt={options.adapt!r}"
        )
    _check_out(out, options)
    shape: Any = getattr(features, "shape", ())
    if len(shape) == 2 and not issparse(features):  # before a memory-mapped file is read
        classes = n_classes(labels)
        training = 0 if options.on_ray else training_memory(shape[0], shape[1], classes, options.classifier())
        check_label_memory(shape[0], shape[1], classes, things="samples", training=training)
    X = check_sparse(features) if issparse(features) else _own_features(features, copy)
    n = X.shape[0]
    names = [str(i) for i in range(n)] if files is None else [str(file) for file in files]
    if len(names) != n or len(set(names)) != len(names):
        raise InvalidInputError(
            f"files must be one name per sample, all different: {n} samples; "
            f"got {len(names)} names, {len(set(names))} of them different"
        )
    result = _labelled(X, labels, names, options, graph, tell)
    return _finished(replace(result, settings=_settings(result, options, {})), out, options, tell)


def reuse(
    earlier: Place,
    images: Place | ImageSet,
    out: Place | None = None,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> Labelling:
    """Label new images with the model of an earlier result; nothing is trained.

    Parameters
    ----------
    earlier : the folder that an earlier run wrote.
    images, out, progress : as for :func:`label_images`; labels of these images are not used.
    options : see :class:`LabelOptions`; the extractor and the settings of the model are those of the earlier run.
    """
    tell = progress or silent
    if options.adaptation is not None:
        raise InvalidInputError(
            "the network of an earlier run is used as it is, adapted or not: leave out --adapt, or label again without "
            f"--reuse; got both for {earlier}"
        )
    found = _find(images, options, tell, uses_labels=False)
    _check_out(out, options, found.root, Path(earlier))
    recover(Path(earlier))
    settings = read_settings(Path(earlier))
    if settings.get("extractor") is None:
        raise InvalidInputError(
            "the earlier run labelled features, so it has no network that extracts features from images: use the result "
            f"of a run on images; got {earlier}"
        )
    if (Path(earlier) / "texts.csv").is_file():
        raise InvalidInputError(
            f"new images need the model of a run on images: name the folder of such a run; got {earlier}, a run on texts"
        )
    tell_if_model_is_older(Path(earlier), settings, tell)
    clf = GrandeClassifier.load(Path(earlier) / "model").set_params(device=options.device)
    options = replace(options, extractor=str(settings["extractor"]))
    parts = earlier_parts(settings, Path(earlier) / ADAPTED_FILE, options.weights)
    extraction = extract_images(found, options, tell, parts)
    calibration = read_calibration(settings)
    result = assess_new(
        extraction.features(), extraction.images.files, clf, calibration, coverage=options.coverage
    )
    labelling = _with_images(result, extraction, options)
    if "adapt" in settings:  # a later run may in turn reuse this one
        labelling = replace(
            labelling,
            settings=labelling.settings | {"adapt": settings["adapt"]},
            adapted_weights=adapted_file(Path(earlier)),
        )
    return _finished(labelling, out, options, tell)


def extract_images(
    images: Place | ImageSet,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
    parts: Sequence[Extractor] | None = None,
) -> Extraction:
    """The features of the images of a folder, with the extractor, store and workers of ``options``.

    ``parts`` are the networks to use, side by side if there are several, instead of the extractor that is named.
    """
    tell = progress or silent
    found = _find(images, options, tell)
    networks = parts or load_parts(options.extractor or default_extractor(), options.weights)
    check_label_memory(len(found), sum(network.n_features() for network in networks))
    extraction = extract_parts(
        found, networks, store=options.store, device=options.device, workers=options.workers, thumbnails=True,
        progress=lambda done, total: tell(Step("extract", done, total)),
        runner=options.extraction_runner,
    )  # fmt: skip
    if not len(extraction.images):
        last = extraction.images.problems[-1]
        raise InvalidInputError(
            f"none of the {len(found)} files is a readable image, the last one being {last.file}; got {last.reason}"
        )
    n, known = len(extraction.images), extraction.n_reused
    tell(Step("extract", message=f"{n} images have features, {known} of them from earlier runs."))
    return extraction


def _find(
    images: Place | ImageSet, options: LabelOptions, tell: Progress, *, uses_labels: bool = True
) -> ImageSet:
    """The images; those of ``uses_labels=False`` are all unlabelled."""
    if isinstance(images, ImageSet):
        return images if uses_labels else replace(images, labels=[""] * len(images))
    table = None if options.labels is None else Path(options.labels)
    found = find_images(Path(images), table, uses_labels=uses_labels)
    for note in found.notes:
        tell(Step("find", message=note))
    return found


def _check_out(out: Place | None, options: LabelOptions, *sources: Path) -> None:
    """Refuse, before any work, places that cannot be written to and a model that cannot be saved."""
    if out is not None:
        check_destination(Path(out), sources, options.named_places, overwrite=options.overwrite)
        if not is_registered(as_degree(options.degree)):
            raise InvalidInputError(
                "results are written with their model, and a degree of your own cannot be saved: register it with "
                f"register_degree under a name of its own, or pass no output folder; got {options.degree}"
            )
    elif options.export:
        raise InvalidInputError(
            f"an export is written among the results: name a folder for them; got {options.export!r} and no folder"
        )
    if options.copy_to is not None:
        check_copies(options.copy_to)


def _own_features(features: ArrayLike, copy: bool) -> NDArray[np.float32]:
    """The features as an array that the classifier may keep: one more copy only if they are float32 already."""
    X = check_features(features)
    is_new = isinstance(features, np.ndarray) and not np.may_share_memory(X, features)
    return X if is_new or (X.flags.writeable and not copy) else X.copy()


def _labelled(
    features: NDArray[np.float32],
    labels: Any,
    files: Sequence[str],
    options: LabelOptions,
    graph: Any,
    tell: Progress,
) -> Labelling:
    ready = options.ready_graph(features.shape[0], files) if graph is None else graph
    tell(Step("train"))
    train = partial(train_on_cluster, options.address) if options.on_ray else train_and_assess
    with counted(tell):
        return train(options.classifier(), features, labels, files, ready, options.coverage)


def _adapted(result: Labelling, extraction: Extraction, options: LabelOptions, tell: Progress) -> Labelling:
    """The labelling by the adapted network, or by the original one if that is better."""
    from grande_gnn.labelling.adapting import adapt_labelling

    def report(done: int, total: int, message: str, detail: str = "") -> None:
        tell(Step("adapt", done, total, message, detail))

    with counted(tell):
        better = adapt_labelling(result, extraction, options, report)
    labelling = _with_images(better.result, better.extraction, options)
    return replace(
        labelling,
        settings=labelling.settings | {"adapt": better.notes},
        adapted_weights=better.weights,
        thumbnails=lambda rows: extraction.thumbnails(list(rows)),
    )


def _with_images(result: Labelling, extraction: Extraction, options: LabelOptions) -> Labelling:
    """The labelling with everything that is known about its images."""
    images = extraction.images
    network = {"extractor": options.extractor, "weights": extraction.identity}
    return replace(
        result,
        root=images.root,
        problems=images.problems,
        settings=_settings(result, options, network),
        thumbnails=lambda rows: extraction.thumbnails(list(rows)),
    )


def _settings(
    result: Labelling, options: LabelOptions, network: Mapping[str, str | None]
) -> dict[str, object]:
    files = {name: getattr(options, name) for name in ("graph_file", "lists_file")}
    return {
        "version": __version__, "extractor": None, "weights": None, **network, **model_settings(result),
        "seed": options.seed, **{name: str(file) for name, file in files.items() if file is not None},
    }  # fmt: skip


def _finished(result: Labelling, out: Place | None, options: LabelOptions, tell: Progress) -> Labelling:
    """Write what was asked for."""
    if out is not None:
        tell(Step("write"))
        with counted(tell):
            write_labelling(result, Path(out), overwrite=options.overwrite, export=options.export)
    if options.copy_to is not None and result.root is not None:
        with counted(tell):
            copied = copy_to_class_folders(options.copy_to, result, result.root)
        tell(Step("copy", message=f"{copied} images copied into class folders in {options.copy_to}."))
    return result
