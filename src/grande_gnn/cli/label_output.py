"""What ``grande label`` writes, and what it says at the end."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np

from grande_gnn import __version__
from grande_gnn.errors import InvalidInputError, OutputExistsError
from grande_gnn.exports import check_copies, copy_to_class_folders, write_label_studio
from grande_gnn.files import check_output
from grande_gnn.images import Extraction, write_problems
from grande_gnn.labelling import Labelling, write_predictions

__all__ = ["check_destination", "write_results"]

_OURS = ("settings.json", "predictions.csv")
"""What a folder must hold to be known as the result of an earlier run."""


def check_destination(output: Path, images: Path, options: dict[str, Any]) -> None:
    """Refuse, before any work, whatever would destroy a file that is not an earlier result."""
    whole = output.resolve()
    kept = [images.resolve()] + ([options["reuse"].resolve()] if options["reuse"] is not None else [])
    if any(place == whole or whole in place.parents for place in kept):
        raise InvalidInputError(
            f"the results need a folder of their own, not one that holds the images or the model: name another; "
            f"got {output}"
        )
    is_empty_folder = output.is_dir() and not any(output.iterdir())
    if not is_empty_folder:
        check_output(output, options["overwrite"])
    if output.exists() and not is_empty_folder and not all((output / name).is_file() for name in _OURS):
        raise OutputExistsError(
            f"what exists is not the result of an earlier run, so it is not overwritten: name another folder; got {output}"
        )
    copies = options["copy_to"]
    if copies is not None:
        check_copies(copies)


def write_results(
    output: Path, extraction: Extraction, result: Labelling, clf: Any, options: dict[str, Any]
) -> None:
    """Write everything into a folder beside the output and move it into place as one."""
    part = Path(tempfile.mkdtemp(prefix=f".{output.name}.", suffix=".part", dir=output.parent))
    try:
        _fill(part, output, extraction, result, clf, options)
        os.chmod(part, 0o755)
        if output.exists():
            shutil.rmtree(output)
        os.replace(part, output)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    if options["copy_to"] is not None:
        copied = copy_to_class_folders(options["copy_to"], result, extraction.images.root)
        click.echo(f"{copied} images copied into class folders in {options['copy_to']}.")
    _say(output, extraction, result, clf)


def _fill(
    part: Path, output: Path, extraction: Extraction, result: Labelling, clf: Any, options: dict[str, Any]
) -> None:
    from grande_gnn.engine import resolve_device
    from grande_gnn.report import write_report

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
    shown = {k: v for k, v in settings.items() if k not in ("weights", "temperature", "offset")}
    device = str(resolve_device(options["device"]))
    content = report_content(extraction, result, clf, shown, os.path.relpath(images.root, output), device)
    write_report(
        content,
        part / "report.html",
        lambda rows: extraction.thumbnails(list(rows)),
        random_state=options["seed"],
    )


def report_content(
    extraction: Extraction,
    result: Labelling,
    clf: Any,
    settings: dict[str, Any],
    image_root: str,
    device: str,
) -> Any:
    """The report's content from the labelling."""
    from grande_gnn.graph import ranked_lists
    from grande_gnn.report import CalibrationBin, Estimate, Problem, ReportContent, Suspicion

    features = clf._normalizer.transform(extraction.features())
    return ReportContent(
        files=result.files, labels=result.labels, confidence=result.confidence, runner_up=result.runner_up,
        margin=result.margin, given_labels=result.given, features=features,
        neighbors=ranked_lists(features, 7, device=device)[:, 1:].astype(np.int64), unreached=result.unreached,
        out_of_distribution=result.out_of_distribution,
        suspicions=[Suspicion(row, name, sure) for row, name, sure in result.suspicions],
        accuracy=None if result.accuracy is None else _estimate(result.accuracy, Estimate),
        accuracy_note=result.note,
        class_accuracy={name: _estimate(e, Estimate) for name, e in result.class_accuracy.items()},
        calibration=[CalibrationBin(*b) for b in result.bins], settings=settings,
        problems=[Problem(p.file, p.reason) for p in extraction.images.problems], image_root=image_root,
        title=f"Labels of {extraction.images.root.resolve().name}",
    )  # fmt: skip


def _estimate(e: Any, kind: Any) -> Any:
    return kind(e.value, e.low, e.high)


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
