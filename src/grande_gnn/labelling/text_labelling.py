"""Label texts: from a table, lines of JSON or a folder of ``.txt`` files, of which few are labelled, to labels for all.

>>> from grande_gnn import LabelOptions
>>> from grande_gnn.labelling.text_labelling import label_texts
>>> result = label_texts("texts.csv", "out/", LabelOptions(text=["body"]))      # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grande_gnn import __version__
from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.graph import Neighbors
from grande_gnn.images.store import FeatureStore, StoredImage
from grande_gnn.internal.csv_file import write_csv
from grande_gnn.internal.files import check_output
from grande_gnn.internal.swap import recover
from grande_gnn.labelling.assess import assess_new
from grande_gnn.labelling.calibration import Calibration
from grande_gnn.labelling.exports import check_text_exports, export_names
from grande_gnn.labelling.folder import check_destination, load_labelling, read_calibration
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.needs import check_label_memory
from grande_gnn.labelling.pending import tell_if_model_is_older, tell_if_review_is_kept
from grande_gnn.labelling.result import Labelling
from grande_gnn.labelling.run import label_features
from grande_gnn.labelling.steps import Progress, Step, counted, silent
from grande_gnn.labelling.suggest import DEFAULT_STRATEGY, suggest
from grande_gnn.texts import TextSet, load_text_extractor, read_texts
from grande_gnn.texts.embedders import DEFAULT_TEXT, TextExtractor

__all__ = [
    "label_texts",
    "reuse_for_texts",
    "start_texts",
    "suggest_for_texts",
    "text_features",
    "with_text_features",
    "write_text_template",
]

Place = str | Path

_PORTION = 1024
"""Texts whose features are stored together; a killed run loses the features of at most this many."""
_TOLERANCE = 1e-2
"""How far the features of the earlier texts may be from those that the model has, whose rows have length 1."""


def label_texts(
    source: Place | TextSet,
    out: Place | None = None,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> Labelling:
    """Label texts, of which some have a label.

    Parameters
    ----------
    source : what :func:`~grande_gnn.texts.read_texts` reads, with the columns ``options.text``, or what it returned.
    out : folder for the results, as :meth:`Labelling.save` writes it; None: nothing is written.
    options : ``extractor`` is ``tfidf`` (the default) or a sentence-transformers model.
    progress : called with each :class:`~grande_gnn.labelling.run.Step`.
    """
    texts = _read(source, options, progress)
    _check(texts, out, options)
    tell_if_review_is_kept(out, progress or silent)
    if not any(texts.labels):
        empty = f"{options.labels}, in which no label is filled in" if options.labels else ""
        raise InvalidInputError(
            f"none of the {len(texts)} texts is labelled: `{_template_command(texts.source, options)}` writes a file "
            f"to fill in and pass with --labels; got {empty or f'no label in {texts.source.name}'}"
        )
    extractor = load_text_extractor(options.extractor)
    features = text_features(texts.texts, extractor, options, progress)
    result = label_features(
        features, texts.labels, files=texts.names, options=replace(options, export=()), progress=progress
    )
    return _finished(_of_texts(result, texts, extractor, options), out, options)


def start_texts(
    source: Place | TextSet,
    out: Place | None = None,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> Labelling:
    """A labelling in which no text has a predicted label, to begin a review; labels that exist already are kept as given."""
    texts = _read(source, options, progress)
    _check(texts, out, options)
    extractor = load_text_extractor(options.extractor)
    features = text_features(texts.texts, extractor, options, progress)
    return _finished(
        _of_texts(_unlabelled(features, texts, options), texts, extractor, options), out, options
    )


def reuse_for_texts(
    earlier: Place,
    source: Place | TextSet,
    out: Place | None = None,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
) -> Labelling:
    """Label new texts with the model of an earlier result; nothing is trained.

    The terms of ``tfidf`` are those of the earlier texts, which the earlier result keeps.
    """
    folder = Path(earlier)
    texts = _read(source, options, progress, uses_labels=False)
    _check(texts, out, options, folder)
    recover(folder)
    known = load_labelling(folder)
    clf = known.classifier
    if known.texts is None or clf is None:
        raise InvalidInputError(
            f"new texts need the model of a run on texts: name the folder of such a run; got {earlier}"
        )
    tell_if_model_is_older(folder, known.settings, progress or silent)
    extractor = _same_extractor(known)
    if extractor.learns:
        both = extractor.features(known.texts, texts.texts)
        before, features = both[: len(known.texts)], both[len(known.texts) :]
        if before.shape != clf.features_.shape or np.abs(before - clf.features_).max() > _TOLERANCE:
            raise FileFormatError(
                f"the features of the earlier texts are not what they were, because another version of scikit-learn made "
                f"them or the texts were edited: label them again; got {earlier}"
            )
    else:
        features = text_features(texts.texts, extractor, options, progress)
    result = assess_new(
        features, texts.names, clf.set_params(device=options.device), read_calibration(known.settings),
        coverage=options.coverage,
    )  # fmt: skip
    settings = {name: value for name, value in known.settings.items() if name != "exports"}
    return _finished(
        replace(result, texts=texts.texts, problems=texts.problems, settings=settings), out, options
    )


def suggest_for_texts(
    source: Place | TextSet,
    options: LabelOptions = DEFAULT,
    progress: Progress | None = None,
    strategy: str = DEFAULT_STRATEGY,
) -> list[tuple[str, str, str]]:
    """Name, label and text of every text, in the order in which they are worth labelling.

    Those without a label come first, the most useful of them on top.
    """
    texts = _read(source, options, progress)
    features = text_features(texts.texts, load_text_extractor(options.extractor), options, progress)
    with counted(progress):
        order = suggest(features, strategy=strategy, labels=texts.labels, random_state=options.seed).tolist()
    known = [row for row, label in enumerate(texts.labels) if label]
    return [(texts.names[row], texts.labels[row], texts.texts[row]) for row in [*order, *known]]


def write_text_template(
    path: Place, rows: Sequence[tuple[str, str, str]], *, overwrite: bool = False
) -> None:
    """Write a CSV with the columns file, label and text, to be filled in."""
    write_csv(check_output(path, overwrite), ["file", "label", "text"], rows)


def with_text_features(
    labelling: Labelling, options: LabelOptions = DEFAULT, progress: Progress | None = None
) -> Labelling:
    """A labelling of texts without a model, with the features of its texts: from the store, or extracted again."""
    assert labelling.texts is not None
    features = text_features(labelling.texts, _same_extractor(labelling), options, progress)
    return replace(labelling, neighbors=Neighbors(features, device=options.device))


def text_features(
    texts: Sequence[str], extractor: TextExtractor, options: LabelOptions, progress: Progress | None = None
) -> NDArray[np.float32]:
    """The features of texts; those of an extractor that does not learn from them are kept in the feature store."""
    tell = progress or silent
    if extractor.learns:
        tell(Step("extract", message=f"Terms are learned from {len(texts)} texts."))
        features = extractor.features(texts)
        check_label_memory(len(texts), features.shape[1])
        return features
    store = FeatureStore(options.store, extractor.identity)
    digests = [hashlib.blake2b(text.encode("utf-8"), digest_size=20).digest() for text in texts]
    store.remove_damaged(set(digests) & store.digests())
    known = store.digests()
    missing = list({d: text for d, text in zip(digests, texts, strict=True) if d not in known}.items())
    for start in range(0, len(missing), _PORTION):
        portion = missing[start : start + _PORTION]
        values = extractor.features([text for _, text in portion])
        store.add([StoredImage(digest, b"", row) for (digest, _), row in zip(portion, values, strict=True)])
        tell(Step("extract", min(start + _PORTION, len(missing)), len(missing)))
    reused = len(texts) - len(missing)
    tell(Step("extract", message=f"{len(texts)} texts have features, {reused} of them from earlier runs."))
    return np.concatenate(list(store.features(digests)))


def _template_command(source: Path, options: LabelOptions) -> str:
    """The command that writes a file to fill in, for the same texts and extractor."""
    columns = [part for column in options.text for part in ("--text", column)]
    extractor = [] if options.extractor is None else ["--extractor", options.extractor]
    return shlex.join(["grande", "label", str(source), "--template", "labels.csv", *columns, *extractor])


def _read(
    source: Place | TextSet, options: LabelOptions, progress: Progress | None, *, uses_labels: bool = True
) -> TextSet:
    if isinstance(source, TextSet):
        return source
    texts = read_texts(source, list(options.text), options.labels, uses_labels=uses_labels)
    tell = progress or silent
    for note in texts.notes:
        tell(Step("find", message=note))
    return texts


def _check(texts: TextSet, out: Place | None, options: LabelOptions, *sources: Path) -> None:
    """Refuse, before any work, places that cannot be written and options that texts do not have."""
    check_text_exports(export_names(options.export))
    if options.copy_to is not None:
        raise InvalidInputError(
            f"texts are not copied into class folders: leave --copy-to out and use predictions.csv; "
            f"got {options.copy_to}"
        )
    if options.adapt != "off":
        raise InvalidInputError(
            f"only image networks can be adapted: leave --adapt out for texts; got adapt={options.adapt!r}"
        )
    if options.weights is not None:
        raise InvalidInputError(
            f"a text extractor has its own weights: to use others, pass the folder of the model as --extractor; "
            f"got --weights {options.weights}"
        )
    if out is not None:
        folder = [texts.source] if texts.source.is_dir() else []
        named = options.named_places | {"texts": texts.source}
        check_destination(Path(out), [*folder, *sources], named, overwrite=options.overwrite)


def _same_extractor(labelling: Labelling) -> TextExtractor:
    """The extractor that a labelling was made with."""
    extractor = load_text_extractor(str(labelling.settings.get("extractor") or DEFAULT_TEXT))
    if extractor.identity != labelling.settings.get("weights"):
        raise InvalidInputError(
            f"the earlier run used another version of the extractor {labelling.settings.get('extractor')}: label its texts "
            f"again; got {extractor.identity} instead of {labelling.settings.get('weights')}"
        )
    return extractor


def _of_texts(
    result: Labelling, texts: TextSet, extractor: TextExtractor, options: LabelOptions
) -> Labelling:
    """The labelling with everything that is known about its texts."""
    network: Mapping[str, object] = {
        "extractor": options.extractor or DEFAULT_TEXT, "weights": extractor.identity,
    }  # fmt: skip
    made = replace(
        result, texts=texts.texts, problems=texts.problems, settings=result.settings | dict(network)
    )
    return replace(made, note=made.said(made.note), doubts=[made.said(doubt) for doubt in made.doubts])


def _unlabelled(features: NDArray[np.float32], texts: TextSet, options: LabelOptions) -> Labelling:
    n, sure = len(texts), np.array([1.0 if label else 0.0 for label in texts.labels])
    settings: dict[str, object] = {"version": __version__, "seed": options.seed, **asdict(Calibration())}
    return Labelling(
        texts.names, list(texts.labels), sure, [""] * n, sure.copy(), list(texts.labels), np.zeros(n, dtype=bool),
        np.zeros(n, dtype=bool), settings=settings, neighbors=Neighbors(features, device=options.device),
        note="Label texts of at least two classes to have the others labelled.",
    )  # fmt: skip


def _finished(result: Labelling, out: Place | None, options: LabelOptions) -> Labelling:
    if out is not None:
        result.save(out, overwrite=options.overwrite, export=options.export)
    return result
