"""``grande label``: a folder of images, few of them labelled, to labels for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from grande_gnn.cli.options import device_option, seed_option


class AutoOr(click.ParamType):
    """``auto``, or whatever another type makes of the value."""

    def __init__(self, other: Any) -> None:
        self.other = click.types.convert_type(other)
        self.name = f"auto|{self.other.name}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "auto" else self.other.convert(value, param, ctx)


@click.command("label")
@click.argument("images", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for the results.")
@click.option(
    "--labels", type=click.Path(path_type=Path), help="CSV with file and label (blank = unlabelled)."
)
@click.option(
    "--template", type=click.Path(path_type=Path), help="Write a CSV to fill in, most useful images first."
)
@click.option("--dry-run", is_flag=True, help="Only say what was found: classes, counts, ten rows.")
@click.option(
    "--reuse", type=click.Path(path_type=Path), help="Label with the model of an earlier run's folder."
)
@click.option("--extractor", metavar="NAME", help="See grande extract. [default: lite2]")
@click.option("--weights", type=click.Path(path_type=Path), help="File with the extractor's weights.")
@click.option("--model", type=click.Choice(["appnp", "sgc"]), default="appnp", show_default=True)
@click.option("--degree", type=click.Choice(["grande", "centrality"]), default="grande", show_default=True)
@click.option("--sigma", type=AutoOr(float), default="auto", show_default=True)
@click.option(
    "--graph", type=click.Choice(["auto", "reciprocal", "knn", "dgcg"]), default="auto", show_default=True
)
@click.option("--neighbors", type=AutoOr(click.IntRange(min=1)), default="auto", show_default=True)
@click.option(
    "--normalize", type=click.Choice(["auto", "none", "l2", "center-l2"]), default="auto", show_default=True
)
@click.option("--paper", is_flag=True, help="The paper's fixed settings instead of choosing them.")
@click.option("--export", type=click.Choice(["label-studio"]), help="Also write the labels for another tool.")
@click.option(
    "--copy-to", type=click.Path(path_type=Path), help="Also copy the images into class folders here."
)
@click.option("--workers", type=click.IntRange(min=0), help="Processes that decode images.")
@click.option("--store", type=click.Path(path_type=Path), help="Folder of the feature store.")
@device_option
@seed_option
@click.option("--overwrite", is_flag=True, help="Replace an earlier result; other files there stay.")
def command(images: Path, output: Path | None, dry_run: bool, template: Path | None, **options: Any) -> None:
    """Label the folder IMAGES, of which some images have a label.

    Labels are the names of class folders (IMAGES/<class>/*.jpg; loose images are unlabelled) or come from a CSV.
    The output folder gets predictions.csv, report.html, problems.csv and a reusable model/.
    """
    from grande_gnn.images import find_images, summarise

    if options["paper"]:
        _check_paper()
    found = find_images(images, options["labels"])
    if dry_run:
        click.echo(summarise(found))
        return
    for note in found.notes:
        click.echo(note)
    if template is not None:
        _write_template(template, _extract(found, options), options)
        return
    if output is None:
        raise click.UsageError("say where the results go: -o FOLDER")
    run(found, output, **options)


def _check_paper() -> None:
    """Refuse ``--paper`` beside a setting that it fixes."""
    given = click.get_current_context().get_parameter_source
    for name in ("graph", "neighbors", "normalize", "sigma"):
        if given(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--paper fixes the settings: leave one of the two out; got --paper and --{name}"
            )


def run(found: Any, output: Path, **options: Any) -> None:
    """Extract, label, write: everything after the folder was understood."""
    from grande_gnn.errors import InvalidInputError
    from grande_gnn.images import default_extractor
    from grande_gnn.labelling.folder import check_destination, write_results

    check_destination(output, found.root, options)
    if options["reuse"] is None and not found.class_counts:
        raise InvalidInputError(
            f"none of the {len(found)} images is labelled: `grande label {found.root} --template labels.csv` writes a "
            "file to fill in, the most useful images first; got no class folders and no CSV with labels"
        )
    if options["reuse"] is not None:
        extraction, result, clf, options = _reuse(found, options)
    else:
        options |= {"extractor": options["extractor"] or default_extractor()}
        extraction = _extract(found, options)
        result, clf = _label(extraction, options)
    write_results(output, extraction, result, clf, options)


def _extract(found: Any, options: dict[str, Any]) -> Any:
    from grande_gnn.errors import InvalidInputError
    from grande_gnn.images import extract_features, load_extractor

    extraction = extract_features(
        found, load_extractor(options["extractor"], options["weights"]),
        store=options["store"], device=options["device"], workers=options["workers"],
        thumbnails=True, progress=True,
    )  # fmt: skip
    if not len(extraction.images):
        raise InvalidInputError(
            f"none of the {len(found)} files is a readable image; got lastly: {extraction.images.problems[-1].reason}"
        )
    click.echo(
        f"{len(extraction.images)} images have features, {extraction.n_reused} of them from earlier runs."
    )
    return extraction


def _label(extraction: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    from grande_gnn.classifier.estimator import GrandeClassifier
    from grande_gnn.classifier.preparation import Choice
    from grande_gnn.classifier.tuning import PAPER
    from grande_gnn.labelling.result import label_features

    own = Choice(options["graph"], options["neighbors"], options["normalize"], options["sigma"])
    wanted = PAPER if options["paper"] else own
    clf = GrandeClassifier(
        options["model"], options["degree"], wanted.sigma, graph=wanted.graph, n_neighbors=wanted.n_neighbors,
        normalize=wanted.normalize, device=options["device"], random_state=options["seed"],
    )  # fmt: skip
    usable = extraction.images
    return label_features(extraction.features(), usable.files, usable.labels, clf), clf


def _reuse(found: Any, options: dict[str, Any]) -> tuple[Any, Any, Any, dict[str, Any]]:
    from grande_gnn.classifier.estimator import GrandeClassifier
    from grande_gnn.errors import FileFormatError, InvalidInputError
    from grande_gnn.images import load_extractor
    from grande_gnn.labelling.confidence import Calibration
    from grande_gnn.labelling.result import label_new_features

    try:
        earlier = json.loads((options["reuse"] / "settings.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FileFormatError(
            f"--reuse takes the output folder of an earlier run (with model/ and settings.json); got {options['reuse']}"
        ) from None
    clf = GrandeClassifier.load(options["reuse"] / "model").set_params(device=options["device"])
    options = options | {"extractor": earlier["extractor"]}
    if load_extractor(options["extractor"], options["weights"]).identity != earlier.get("weights"):
        raise InvalidInputError(
            f"the earlier run used other weights of {earlier['extractor']}: pass the same --weights as then; "
            f"got {options['weights'] or 'none'}"
        )
    extraction = _extract(found, options)
    calibration = Calibration(earlier["temperature"], earlier["offset"])
    result = label_new_features(extraction.features(), extraction.images.files, clf, calibration)
    return extraction, result, clf, options


def _write_template(path: Path, extraction: Any, options: dict[str, Any]) -> None:
    from grande_gnn.engine import resolve_device
    from grande_gnn.graph import ranked_lists
    from grande_gnn.labelling.suggest import labelling_order
    from grande_gnn.labelling.template import write_template

    device = str(resolve_device(options["device"]))
    order = labelling_order(ranked_lists(extraction.features(), 40, device=device))
    known = dict(zip(extraction.images.files, extraction.images.labels, strict=True))
    files = [extraction.images.files[i] for i in order]
    # What is labelled already comes last, with its label: nothing the user knows is lost.
    files.sort(key=lambda file: bool(known[file]))
    write_template(path, files, known, overwrite=options["overwrite"])
    click.echo(
        f"{path}: fill in the label of the first rows (the more the better), then pass it with --labels."
    )
