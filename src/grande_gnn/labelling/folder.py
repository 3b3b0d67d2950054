"""What ``grande label`` writes, and what it says at the end."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from grande_gnn import __version__
from grande_gnn.errors import GrandeError, InvalidInputError, OutputExistsError
from grande_gnn.graph import Neighbors
from grande_gnn.images import Extraction, write_problems
from grande_gnn.internal.files import check_output
from grande_gnn.labelling.exports import check_copies, copy_to_class_folders, write_label_studio
from grande_gnn.labelling.result import Labelling, write_predictions

__all__ = ["check_destination", "write_results"]

_MARK = "predictions.csv"
"""What is taken away first and put in place last: while it is missing, a result is not whole."""

_ENTRIES = (_MARK, "settings.json", "problems.csv", "report.html", "label-studio.json", "model")
"""All that a result may consist of, and all that is ever replaced or deleted."""

_OURS = ("settings.json", _MARK)
"""What a folder must hold to be known as the result of an earlier run."""

_PREFIX, _SUFFIX = ".grande-", ".part"
"""How the name of the folder begins and ends in which a result is written before it is moved into place."""


def check_destination(output: Path, images: Path, options: dict[str, Any]) -> None:
    """Refuse, before any work, a folder that is not ours to fill or where a result would replace what is read."""
    whole = output.resolve()
    if any(_holds(whole, place) for place in (images, options["reuse"])):
        raise InvalidInputError(
            f"the results need a folder of their own, not one that holds the images or the model: name another; "
            f"got {output}"
        )
    for name in ("labels", "store", "weights", "copy_to"):
        if any(_holds(whole / entry, options[name]) for entry in _ENTRIES):
            raise InvalidInputError(
                f"the results would replace what --{name.replace('_', '-')} names: name another folder with -o; "
                f"got {options[name]}"
            )
    entries = list(whole.iterdir()) if whole.is_dir() else []
    is_free = whole.is_dir() and all(_is_part(entry) or _holds(entry, options["store"]) for entry in entries)
    if not is_free:
        check_output(whole, options["overwrite"])
    # A run killed while it moved its result in leaves a part and less than a result.
    is_ours = any(map(_is_part, entries)) or all((whole / name).is_file() for name in _OURS)
    if whole.exists() and not is_free and not is_ours:
        raise OutputExistsError(
            f"what exists is not the result of an earlier run, so it is not overwritten: name another folder; got {output}"
        )
    if not os.access(whole if whole.exists() else whole.parent, os.W_OK | os.X_OK):
        raise InvalidInputError(
            f"the results cannot be written there: name a folder you may write to; got {output}"
        )
    copies = options["copy_to"]
    if copies is not None and _holds(check_copies(copies).resolve(), whole):
        raise InvalidInputError(
            f"the copies need a folder that does not hold the results: name another with --copy-to; got {copies}"
        )


def _holds(folder: Path, place: Path | None) -> bool:
    """Whether ``place`` is the folder or lies in it."""
    return place is not None and (place.resolve() == folder or folder in place.resolve().parents)


def _is_part(entry: Path) -> bool:
    """Whether an earlier run that was stopped left this: the beginning of a result."""
    return entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX)


def write_results(
    output: Path, extraction: Extraction, result: Labelling, clf: Any, options: dict[str, Any]
) -> None:
    """Write everything into a folder inside the output, then move it into place."""
    with _part_of(output.resolve()) as part:
        _fill(part, output, extraction, result, clf, options)
    try:
        _move_in(part, part.parent, options["overwrite"])
    except OSError as error:
        raise GrandeError(
            f"the results could not be moved to {output}: they are kept in {part}, move them yourself; got {error}"
        ) from error
    shutil.rmtree(part, ignore_errors=True)
    if options["copy_to"] is not None:
        copied = copy_to_class_folders(options["copy_to"], result, extraction.images.root)
        click.echo(f"{copied} images copied into class folders in {options['copy_to']}.")
    _say(output, extraction, result, clf)


@contextmanager
def _part_of(whole: Path) -> Iterator[Path]:
    """A new folder inside ``whole``, gone if it is not filled.

    Inside, because a link, a mounted volume or the working folder can be neither replaced nor always written beside.
    """
    is_new = not whole.exists()
    whole.mkdir(exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=whole))
    try:
        yield part
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # somebody else may have put something there
                whole.rmdir()
        raise


def _move_in(part: Path, whole: Path, overwrite: bool) -> None:
    """Put the result in ``part`` in the place of an earlier one, or change nothing; other files are not touched."""
    new = sorted(os.listdir(part), key=lambda name: name == _MARK)
    old = [name for name in _ENTRIES if os.path.lexists(whole / name)]
    if old and not overwrite:
        raise FileExistsError(f"{old[0]}, which was not there before")
    earlier = part / "earlier"
    earlier.mkdir()
    moves = [(whole / name, earlier / name) for name in old] + [(part / name, whole / name) for name in new]
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            os.replace(source, target)
            done.append((source, target))
    except BaseException:
        for source, target in reversed(done):
            with suppress(OSError):  # what cannot go back either is in one of the two folders
                os.replace(target, source)
        raise


def _fill(
    part: Path, output: Path, extraction: Extraction, result: Labelling, clf: Any, options: dict[str, Any]
) -> None:
    write_report = import_module("grande_gnn.report").write_report

    images = extraction.images
    write_predictions(part / "predictions.csv", result)
    write_problems(part / "problems.csv", images.problems)
    clf.save(part / "model")
    settings = {
        "version": __version__, "extractor": options["extractor"], "weights": extraction.store.identity,
        "model": clf.model, "degree": str(clf.degree), "graph": clf.choice_.graph,
        "n_neighbors": clf.choice_.n_neighbors, "normalize": clf.choice_.normalize, "sigma": clf.choice_.sigma,
        "seed": options["seed"], "temperature": result.calibration.temperature, "offset": result.calibration.offset,
    }  # fmt: skip
    (part / "settings.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    if options["export"] == "label-studio":
        write_label_studio(part / "label-studio.json", result, images.root)
    complete = replace(
        result, root=images.root, problems=images.problems, settings=settings,
        neighbors=Neighbors(clf.normalizer_.transform(extraction.features()), device=options["device"]),
        thumbnails=lambda rows: extraction.thumbnails(list(rows)),
    )  # fmt: skip
    image_root = _path_between(output, images.root)
    write_report(complete, part / "report.html", image_root=image_root, random_state=options["seed"])


def _path_between(output: Path, images: Path) -> str:
    """The way from the report to the images, or ``""`` (a page without links) where there is none."""
    try:
        return Path(os.path.relpath(images, output)).as_posix()
    except ValueError:  # Windows: another drive, which the page's relative links cannot reach
        return ""


def _say(output: Path, extraction: Extraction, result: Labelling, clf: Any) -> None:
    new = sum(not label for label in result.given)
    click.echo(f"{new} images labelled in {len(clf.classes_)} classes with {clf.choice_}.")
    if result.accuracy is not None:
        e = result.accuracy
        click.echo(
            f"Expected accuracy {100 * e.value:.1f} % (95 % interval {100 * e.low:.1f} to {100 * e.high:.1f} %, "
            f"from {e.n} labels)."
        )
    elif result.note:
        click.echo(result.note)
    flags = [flag for flag in result.flags() if flag]
    if flags:
        click.echo(f"{len(flags)} images are flagged; see the report.")
    if extraction.images.problems:
        click.echo(f"{len(extraction.images.problems)} problems are listed in {output / 'problems.csv'}.")
    click.echo(f"Open {output / 'report.html'}; the labels are in {output / 'predictions.csv'}.")
