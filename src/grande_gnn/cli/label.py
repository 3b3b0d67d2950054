"""``grande label``: from a folder of images, of which few are labelled, to labels for all."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from grande_gnn.classifier.normalizer import NORMALIZATIONS
from grande_gnn.cli.bars import StageBars
from grande_gnn.cli.choices import AutoOr, ChoiceOf, FormOfAdapting, Place
from grande_gnn.cli.options import device_option, ignore_weights_option, is_quiet, seed_option
from grande_gnn.engine.degrees import DEGREES
from grande_gnn.engine.models import MODELS
from grande_gnn.graph.kinds import public_graphs
from grande_gnn.images.networks import DEFAULT
from grande_gnn.labelling.exports import EXPORTS

if TYPE_CHECKING:
    from grande_gnn.labelling import Labelling, LabelOptions, Step
    from grande_gnn.labelling.run import Progress

PATH = Place(path_type=Path)

TEMPLATE_WRITTEN = (
    "{}: fill in the label of the first rows (the more the better), then pass it with --labels."
)


@click.command("label")
@click.argument("images", type=PATH)
@click.option("-o", "--output", type=PATH, help="Folder for the results.")
@click.option("--labels", type=PATH, help="CSV with file and label (blank = unlabelled).")
@click.option("--template", type=PATH, help="Write a CSV to fill in, most useful images first.")
@click.option(
    "--text", multiple=True, metavar="COLUMN", help="The column that holds the text; repeat to join several."
)
@click.option("--dry-run", is_flag=True, help="Only report what was found: classes, counts, ten rows.")
@click.option("--reuse", type=PATH, help="Label with the model of an earlier run's folder.")
@click.option(
    "--extractor", metavar="NAME", help=f"As for grande extract; A+B joins two. [default: {DEFAULT}]"
)
@click.option("--weights", type=PATH, help="File with the extractor's weights.")
@click.option(
    "--adapt", is_flag=False, flag_value="auto", default="off", show_default=True,
    type=FormOfAdapting(["off", "auto", "full", "last"]),
    help="Fine-tune the network to these images first: its last blocks, or all of it (needs a GPU).",
)  # fmt: skip
@click.option(
    "--model", type=ChoiceOf(lambda: MODELS), default="appnp", show_default=True,
    help="The network that spreads labels over the graph.",
)  # fmt: skip
@click.option(
    "--degree", type=ChoiceOf(lambda: DEGREES), default="grande", show_default=True,
    help="How the degree of an image is computed.",
)  # fmt: skip
@click.option(
    "--sigma", type=AutoOr(float), default="auto", show_default=True,
    help="The smaller σ is, the more distant neighbors are penalized.",
)  # fmt: skip
@click.option(
    "--graph", type=ChoiceOf(lambda: ["auto", *public_graphs()]), default="auto", show_default=True,
    help="How images are connected. auto, also of --sigma, --neighbors and --normalize: a committee of graphs.",
)  # fmt: skip
@click.option(
    "--neighbors", type=AutoOr(click.IntRange(min=1)), default="auto", show_default=True,
    help="Neighbors of each image, the image itself included.",
)  # fmt: skip
@click.option(
    "--normalize", type=ChoiceOf(lambda: ["auto", *NORMALIZATIONS]), default="auto", show_default=True,
    help="How features are normalized first.",
)  # fmt: skip
@click.option("--paper", is_flag=True, help="The paper's fixed settings instead of a committee of graphs.")
@click.option(
    "--graph-file",
    metavar="FILE.npz|FILE.csv",
    type=PATH,
    help="Use this graph of the images (or their edges: source,target) instead of building one.",
)
@ignore_weights_option
@click.option(
    "--lists-file", metavar="FILE.npz", type=PATH,
    help="Build --graph from these ranked lists of the images instead of searching neighbors.",
)  # fmt: skip
@click.option(
    "--coverage", type=float, metavar="SHARE",
    help="Add sets of labels that hold the right one with this probability, for example 0.9.",
)  # fmt: skip
@click.option(
    "--export", multiple=True, type=ChoiceOf(lambda: EXPORTS), help="Also write the labels for another tool."
)
@click.option("--copy-to", type=PATH, help="Also copy the images into class folders here.")
@click.option("--workers", type=click.IntRange(min=0), help="Processes that decode images.")
@click.option("--store", type=PATH, help="Folder of the feature store.")
@click.option(
    "--runner", type=click.Choice(["local", "ray"]), default="local", show_default=True,
    help="This machine, or a Ray cluster whose machines all see IMAGES under the same path.",
)  # fmt: skip
@click.option(
    "--address", metavar="HOST:PORT", help="Address of the Ray cluster [default: one on this machine]."
)
@device_option
@seed_option
@click.option("--overwrite", is_flag=True, help="Replace an earlier result; other files there are kept.")
@click.option("--review", is_flag=True, help="Then correct the labels in the browser; see grande review.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the outcome as one JSON object; messages go to stderr."
)
def command(
    images: Path,
    output: Path | None,
    template: Path | None,
    dry_run: bool,
    reuse: Path | None,
    neighbors: int | str,
    review: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Label the folder IMAGES, of which some images have a label.

    Labels are the names of class folders (IMAGES/<class>/*.jpg; loose images are unlabelled) or come from a CSV.
    IMAGES may also be texts (.csv or .jsonl with --text COLUMN, or a folder of .txt files), or a features file of any other
    kind of data (.npz with 'features', 'files' and 'labels').
    The output folder gets predictions.csv, report.html, problems.csv and a reusable model/.
    """
    _check_together(settings["paper"], reuse, as_json)

    from grande_gnn.images import find_images, summarize
    from grande_gnn.texts import are_texts, read_texts

    options = _options(settings | {"n_neighbors": neighbors}, reuse)
    if review:
        _check_review(reuse)
    is_features = images.suffix.lower() == ".npz" and not images.is_dir()
    is_text = not is_features and are_texts(images)
    if is_features and (review or dry_run or reuse is not None or options.adaptation is not None):
        raise click.UsageError(
            "--adapt, --dry-run, --reuse and --review need a folder of images: leave them out, and open the results with "
            f"grande review; got {images}"
        )
    if options.text and not is_text:
        raise click.UsageError(
            f"--text names a column of a .csv or .jsonl file: leave it out for images; got {images}"
        )
    if dry_run:
        found = read_texts(images, options.text, options.labels).summary() if is_text else None
        click.echo(found or summarize(find_images(images, options.labels)))
        return
    work = (_of_features if is_features else _of_texts if is_text else _of_images)(images, options, reuse)
    if template is not None:
        _propose(template, options, work)
        return
    output = _needed(output)
    with ProgressMessages() as progress:
        result = work.label(output, progress)
    report_result(result, output)
    if reuse is None:
        if not review and not is_quiet():
            click.echo(
                f"grande review {shlex.quote(str(output))} corrects labels in the browser.", err=_is_json()
            )
        _tell_about_adapting(result, options)
    if review:
        _open_page(output, options)


def _options(settings: dict[str, Any], reuse: Path | None) -> LabelOptions:
    """The options of the labelling, without those that have no effect."""
    from grande_gnn.labelling import LabelOptions

    ignored = IGNORED_BY_REUSE if reuse is not None else ()
    return LabelOptions(**{name: value for name, value in settings.items() if name not in ignored})


class _Work(NamedTuple):
    """What is done with one kind of data."""

    propose: Callable[[Progress], Any]
    """The samples in the order in which they are worth labelling."""
    write: Callable[..., None]
    """Write what was proposed as a file to fill in."""
    label: Callable[[Path, Progress], Labelling]
    """Label all samples into a folder."""


def _propose(template: Path, options: LabelOptions, work: _Work) -> None:
    from grande_gnn.internal.files import check_output_file

    check_output_file(template, options.overwrite)
    with ProgressMessages() as progress:
        work.write(template, work.propose(progress), overwrite=options.overwrite)
    click.echo(TEMPLATE_WRITTEN.format(template))


def _of_images(images: Path, options: LabelOptions, reuse: Path | None) -> _Work:
    from grande_gnn import labelling

    return _Work(
        lambda tell: labelling.suggest_labels(images, options, tell),
        labelling.write_template,
        lambda out, tell: (
            labelling.label_images(images, out, options, tell)
            if reuse is None
            else labelling.reuse(reuse, images, out, options, tell)
        ),
    )


def _of_texts(source: Path, options: LabelOptions, reuse: Path | None) -> _Work:
    from grande_gnn.labelling import text_labelling

    return _Work(
        lambda tell: text_labelling.suggest_for_texts(source, options, tell),
        text_labelling.write_text_template,
        lambda out, tell: (
            text_labelling.label_texts(source, out, options, tell)
            if reuse is None
            else text_labelling.reuse_for_texts(reuse, source, out, options, tell)
        ),
    )


def _of_features(file: Path, options: LabelOptions, reuse: Path | None) -> _Work:
    from grande_gnn.labelling import write_template
    from grande_gnn.labelling.samples_file import label_file, suggest_for_file

    return _Work(
        lambda tell: suggest_for_file(file, options),
        write_template,
        lambda out, tell: label_file(file, out, options, tell),
    )


def _tell_about_adapting(result: Labelling, options: LabelOptions) -> None:
    from grande_gnn.labelling.adapt_hint import adapt_hint

    if not is_quiet() and (hint := adapt_hint(result, options)):
        click.echo(hint, err=_is_json())


def _open_page(output: Path, options: LabelOptions) -> None:
    from grande_gnn.cli.review import open_page

    open_page(output, None, options)


def _needed(output: Path | None) -> Path:
    if output is None:
        raise click.UsageError("the results need a folder: pass -o FOLDER; got none")
    return output


def _check_review(reuse: Path | None) -> None:
    """Refuse, before any work, a review that could not begin."""
    from grande_gnn.review.reviewing import check_dependencies

    if reuse is not None:
        raise click.UsageError(
            "a review trains on these images, and --reuse does not: leave one of the two out; "
            "got --reuse and --review"
        )
    check_dependencies()


def report_result(result: Labelling, output: Path) -> None:
    """Print what came out and where it is."""
    if _is_json():
        click.echo(json.dumps(outcome(result, output)))
        return
    click.echo(result.summary())
    if result.problems:
        n = len(result.problems)
        click.echo(f"{n} {'problem is' if n == 1 else 'problems are'} listed in {output / 'problems.csv'}.")
    click.echo(f"Open {output / 'report.html'}; the labels are in {output / 'predictions.csv'}.")


def _is_json() -> bool:
    """Whether the standard output is for a program, so that messages go to the other one."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.params.get("as_json"))


def outcome(result: Labelling, output: Path) -> dict[str, Any]:
    """What ``--json`` prints: where the results are, how many there are, and how good they are expected to be."""
    e = result.accuracy
    return {
        "output": str(output),
        "samples": len(result.files),
        "given": sum(bool(label) for label in result.given),
        "classes": len(set(result.labels) - {""}),
        "expected_accuracy": e and {"value": e.value, "low": e.low, "high": e.high, "labels": e.n},
        "flagged": sum(bool(flags) for flags in result.flags()),
        "problems": len(result.problems),
    }


FIXED_BY_PAPER = ("graph", "neighbors", "normalize", "sigma")
FIXED_BY_REUSE = (
    "labels", "extractor", "model", "degree", *FIXED_BY_PAPER, "paper", "graph_file", "lists_file",
)  # fmt: skip
IGNORED_BY_REUSE = {*FIXED_BY_REUSE, "n_neighbors"}
"""The same as fields of the options."""


def _check_together(paper: bool, reuse: Path | None, as_json: bool) -> None:
    """Refuse options that contradict ``--paper``, ``--reuse`` or ``--json``, and name those that ``--reuse`` ignores."""
    for name in _given(("template",)) if reuse is not None else ():
        raise click.UsageError(f"--reuse needs no labels: leave out one of the two; got --reuse and {name}")
    for name in _given(FIXED_BY_REUSE) if reuse is not None else ():
        click.echo(f"--reuse labels with the model of the earlier run, so {name} has no effect.", err=True)
    for name in _given(FIXED_BY_PAPER) if paper and reuse is None else ():
        raise click.UsageError(
            f"--paper fixes the settings: leave one of the two out; got --paper and {name}"
        )
    for name in _given(("dry_run", "template")) if as_json else ():
        raise click.UsageError(f"--json describes results: leave out {name}; got both")


def _given(names: tuple[str, ...]) -> list[str]:
    """Those of these options that are on the command line, as they are written there."""
    source = click.get_current_context().get_parameter_source
    return [f"--{n.replace('_', '-')}" for n in names if source(n) is click.core.ParameterSource.COMMANDLINE]


class ProgressMessages:
    """Prints the messages of a run and shows a bar for the stage at work."""

    def __init__(self) -> None:
        self._bars = StageBars()

    def __enter__(self) -> ProgressMessages:
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.close()

    def __call__(self, step: Step) -> None:
        if is_quiet():
            return
        self._bars(step.stage, step.done, step.total, step.detail)
        if step.message:
            self._bars.close()
            click.echo(step.message, err=_is_json())
