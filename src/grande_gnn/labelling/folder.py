"""What the folder of a labelling holds, written whole or not at all, and read again.

predictions.csv    one row per image; while it is missing, the result is incomplete
settings.json      what was used, the calibration and the accuracy estimate
problems.csv       files that could not be used
report.html        everything on one page
model/             the fitted classifier, for new images and corrections
adapted.safetensors  the weights of the network, if it was adapted to the images
texts.csv          the texts, if texts were labelled
classes.json       the number of each class, once something was exported
label-studio.json  and other exports, on request
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.errors import FileFormatError, InvalidInputError, OutputExistsError
from grande_gnn.images import Problem, read_thumbnail, write_problems
from grande_gnn.internal.csv_file import read_csv, write_csv
from grande_gnn.internal.files import check_output, copy_whole, is_kept, is_unfinished, write_folder
from grande_gnn.internal.progress import counting
from grande_gnn.internal.swap import recover
from grande_gnn.labelling.confidence import AccuracyEstimate, Calibration, ReliabilityBin
from grande_gnn.labelling.earlier_network import ADAPTED_FILE, adapted_file
from grande_gnn.labelling.exports import EXPORTS, check_copies, export_names
from grande_gnn.labelling.exports.among_results import earlier_exports, export_entries, write_exports
from grande_gnn.labelling.label_sets import LabelSets
from grande_gnn.labelling.result import Labelling, Thumbnails, read_predictions, write_predictions
from grande_gnn.labelling.settings_file import read_settings

__all__ = [
    "ENTRIES",
    "check_destination",
    "load_labelling",
    "read_calibration",
    "read_settings",
    "save_labelling",
    "thumbnails_if_images",
    "write_labelling",
]

_FIRST = 10
"""Samples of a features file that tell whether all of them are images."""

Names = str | Sequence[str] | None
"""One name, several, or none."""

Writer = Callable[[Labelling, Path, Path], object]
"""Writes an entry: takes the labelling, the path to write to, and the folder in which the entry will end up."""


def _write_predictions(labelling: Labelling, path: Path, folder: Path) -> None:
    write_predictions(path, labelling)


def _write_settings(labelling: Labelling, path: Path, folder: Path) -> None:
    """The settings, and what else :func:`load_labelling` cannot find in the other entries."""
    estimate = {
        "accuracy": None if labelling.accuracy is None else asdict(labelling.accuracy),
        "class_accuracy": {name: asdict(e) for name, e in labelling.class_accuracy.items()},
        "bins": [asdict(b) for b in labelling.bins],
        "note": labelling.note,
        "doubts": labelling.doubts,
        "sets_made": None if labelling.sets_made is None else asdict(labelling.sets_made),
    }
    content = {**labelling.settings, "images": _images_from(folder, labelling.root), "estimate": estimate}
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _write_problems(labelling: Labelling, path: Path, folder: Path) -> None:
    write_problems(path, labelling.problems)


def _write_report(labelling: Labelling, path: Path, folder: Path) -> None:
    # Imported by name and only here: the report imports labellings, so labellings cannot import the report.
    write_report = import_module("grande_gnn.report").write_report
    seed = labelling.settings.get("seed", 0)
    write_report(labelling, path, image_root=_links_from(folder, labelling.root), random_state=seed)


def _write_model(labelling: Labelling, path: Path, folder: Path) -> None:
    if labelling.classifier is not None:
        labelling.classifier.save(path)


def _write_texts(labelling: Labelling, path: Path, folder: Path) -> None:
    if labelling.texts is not None:
        write_csv(path, ["file", "text"], zip(labelling.files, labelling.texts, strict=True))


REPORT = "report.html"

ENTRIES: dict[str, Writer] = {
    "predictions.csv": _write_predictions,
    "settings.json": _write_settings,
    "problems.csv": _write_problems,
    "model": _write_model,
    REPORT: _write_report,
    "texts.csv": _write_texts,
}
"""The entries of a result; the first marks it as complete. These, the adapted weights, and the exports of this run and of
the one before are all that is ever replaced or deleted in the folder."""


def _all_entries() -> list[str]:
    return [*ENTRIES, ADAPTED_FILE, *export_entries([*EXPORTS])]


def check_destination(
    output: Path, sources: Iterable[Path], named: Mapping[str, Path], *, overwrite: bool = False
) -> None:
    """Refuse, before any work, a folder that may not be filled or where a result would replace an input.

    Parameters
    ----------
    output : the folder for the results.
    sources : folders that are read: the images, the earlier result.
    named : the files and folders that options name, by option.
    """
    whole, sources = output.resolve(), list(sources)
    if any(_holds(whole, source) for source in sources):
        raise InvalidInputError(
            f"the results need a folder of their own, not one that holds the images or the model: name another; "
            f"got {output}"
        )
    for option, place in named.items():
        if any(_holds(whole / entry, place) for entry in _all_entries()):
            raise InvalidInputError(
                f"the results would replace what --{option.replace('_', '-')} names: name another folder with -o; "
                f"got {place}"
            )
    recover(whole)
    entries = list(whole.iterdir()) if whole.is_dir() else []
    is_free = whole.is_dir() and all(
        is_unfinished(entry) or is_kept(entry) or ("store" in named and _holds(entry, named["store"]))
        for entry in entries
    )
    if not is_free:
        check_output(whole, overwrite)
    # A run that was killed while it moved its result into place leaves an unfinished folder and an incomplete result.
    is_ours = any(map(is_unfinished, entries)) or all((whole / name).is_file() for name in list(ENTRIES)[:2])
    if whole.exists() and not is_free and not is_ours:
        raise OutputExistsError(
            f"what exists is not the result of an earlier run, so it is not overwritten: name another folder; got {output}"
        )
    if not os.access(whole if whole.exists() else whole.parent, os.W_OK | os.X_OK):
        raise InvalidInputError(
            f"the results cannot be written there: name a folder you may write to; got {output}"
        )
    if "copy_to" in named:
        _check_copies_place(named["copy_to"], whole, sources)


def _check_copies_place(copies: Path, whole: Path, sources: Iterable[Path]) -> None:
    """Refuse copies around the results, and copies that the next run would take for images of the source."""
    target = check_copies(copies).resolve()
    if _holds(target, whole):
        raise InvalidInputError(
            f"the copies need a folder that does not hold the results: name another with --copy-to; got {copies}"
        )
    for source in sources:
        if _holds(source.resolve(), target):
            raise InvalidInputError(
                f"copies inside {source} could be taken for further images when it is read again: name a folder outside it "
                f"with --copy-to; got {copies}"
            )


def _holds(folder: Path, place: Path) -> bool:
    """Whether ``place`` is the folder or lies in it."""
    return place.resolve() == folder or folder in place.resolve().parents


def save_labelling(
    labelling: Labelling, folder: Path, *, overwrite: bool = False, export: Names = None
) -> None:
    """Check the folder, then write the labelling into it."""
    sources = [] if labelling.root is None else [labelling.root]
    check_destination(folder, sources, {}, overwrite=overwrite)
    write_labelling(labelling, folder, overwrite=overwrite, export=export)


def write_labelling(
    labelling: Labelling, folder: Path, *, overwrite: bool = False, export: Names = None
) -> None:
    """Write every entry into ``folder``, which was checked before: all of them, or nothing."""
    names = export_names(export)
    others = {key: value for key, value in labelling.settings.items() if key != "exports"}
    marked = replace(labelling, settings=others | ({"exports": list(names)} if names else {}))

    advance = counting("write", len(ENTRIES))

    def fill(part: Path) -> None:
        def write(*names: str) -> None:
            for name in names:
                ENTRIES[name](marked, part / name, folder)

        # The report takes the longest. It stays in this thread, to which the feature store with its thumbnails belongs.
        others = [name for name in ENTRIES if name != REPORT]
        with ThreadPoolExecutor(1) as beside:
            written = beside.submit(write, *others)
            write(REPORT)
            advance(1)
            written.result()
            advance(len(others))
        if labelling.adapted_weights is not None:
            copy_whole(labelling.adapted_weights, part / ADAPTED_FILE)
        write_exports(part, labelling, folder, names)

    entries = [*ENTRIES, ADAPTED_FILE, *export_entries([*dict.fromkeys([*names, *earlier_exports(folder)])])]
    write_folder(folder, fill, entries, overwrite=overwrite, keep_unmoved=True)


def read_calibration(settings: Mapping[str, Any]) -> Calibration:
    """The calibration in the settings of a result; those of version 0.1 have no slope."""
    slope = {"slope": settings["slope"]} if "slope" in settings else {}
    return Calibration(settings["temperature"], settings["offset"], **slope)


def load_labelling(folder: Path) -> Labelling:
    """Read a result; see :meth:`Labelling.load`."""
    settings = read_settings(folder)
    table = read_predictions(folder / "predictions.csv")
    try:
        calibration = read_calibration(settings)
        estimate = _read_estimate(settings.pop("estimate", {}))
    except (KeyError, TypeError) as error:
        raise FileFormatError(
            f"{folder / 'settings.json'} is incomplete: label again; got {error!r}"
        ) from None
    images = settings.pop("images", None)
    root = None if images is None else Path(os.path.normpath(folder / images))
    problems = [
        Problem(row["file"], row["reason"]) for row in read_csv(folder / "problems.csv", ["file", "reason"])
    ]
    clf = GrandeClassifier.load(folder / "model") if (folder / "model").is_dir() else None
    is_fitted = clf is not None and any(table.given)  # else these images are new to the model
    return replace(
        table, **estimate, calibration=calibration, root=root, problems=problems, settings=settings, classifier=clf,
        adapted_weights=adapted_file(folder), neighbors=clf.neighbors_ if clf is not None and is_fitted else None,
        texts=_read_texts(folder, table.files),
        thumbnails=_read_thumbnails(root, table.files, is_of_images=bool(settings.get("extractor"))),
    )  # fmt: skip


def _read_texts(folder: Path, files: list[str]) -> list[str] | None:
    """The texts of a result; None if it is one of images or features."""
    path = folder / "texts.csv"
    if not path.is_file():
        return None
    rows = read_csv(path, ["file", "text"])
    if [row["file"] for row in rows] != files:
        raise FileFormatError(
            f"{path} must have the rows of predictions.csv: label again; got {len(rows)} rows that differ"
        )
    return [row["text"] for row in rows]


def _read_estimate(content: dict[str, Any]) -> dict[str, Any]:
    if not content:  # version 0.1
        return {}
    accuracy = content["accuracy"]
    return {
        "accuracy": None if accuracy is None else AccuracyEstimate(**accuracy),
        "class_accuracy": {name: AccuracyEstimate(**e) for name, e in content["class_accuracy"].items()},
        "bins": [ReliabilityBin(**b) for b in content["bins"]],
        "note": content["note"],
        "doubts": list(content.get("doubts", [])),
        "sets_made": None if content.get("sets_made") is None else LabelSets(**content["sets_made"]),
    }


def _read_thumbnails(root: Path | None, files: list[str], *, is_of_images: bool) -> Thumbnails | None:
    """Thumbnails of a result; samples of a features file may be files of any kind."""
    if root is None:
        return None
    return thumbnails_in(root, files) if is_of_images else thumbnails_if_images(root, files)


def thumbnails_in(root: Path, files: Sequence[str]) -> Thumbnails:
    """Pictures made from the image files in ``root``; None for a file that is missing or is not an image."""
    return lambda rows: (_thumbnail(root / files[row]) for row in rows)


def thumbnails_if_images(root: Path, files: Sequence[str]) -> Thumbnails | None:
    """The same for files that may be anything; None if none of the first is an image."""
    pictures = thumbnails_in(root, files)
    is_image = any(picture is not None for picture in pictures(range(min(_FIRST, len(files)))))
    return pictures if is_image else None


def _thumbnail(path: Path) -> Any:
    from io import BytesIO

    from PIL import Image

    try:
        return Image.open(BytesIO(read_thumbnail(path)))
    except FileFormatError:
        return None


def _images_from(folder: Path, root: Path | None) -> str | None:
    """The images' folder relative to the results, so that both can be moved together; absolute on another drive."""
    if root is None:
        return None
    return _links_from(folder, root) or str(root.resolve())


def _links_from(folder: Path, root: Path | None) -> str:
    """The path from the report to the images, or ``""`` (a page without links) if there is none."""
    if root is None:
        return ""
    try:
        return Path(os.path.relpath(root, folder)).as_posix()
    except ValueError:  # Windows: another drive, which the page's relative links cannot reach
        return ""
