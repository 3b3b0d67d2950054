"""``grande demo``: from images to labels on scikit-learn's digits, and a fair comparison of the two degrees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grande_gnn.cli.bars import StageBars
from grande_gnn.cli.label import ProgressMessages, report_result
from grande_gnn.internal.progress import counting, reporting_to

if TYPE_CHECKING:
    from grande_gnn.labelling import Labelling

KEEP_EVERY = 10
"""One label in ten is given, as in the paper."""


@click.command("demo")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("grande-demo"), show_default=True,
    help="Folder for the images and the results; what an earlier demo wrote there is replaced.",
)  # fmt: skip
def command(output: Path) -> None:
    """Label scikit-learn's 1,797 digits, a tenth of them labelled, as you would label your own images.

    Then compare degree centrality and GRaNDe over all ten folds of the paper's protocol, and report the difference.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    folder = output / "digits"
    click.echo(f"Writing 1,797 images of digits to {folder}; every tenth keeps its label.")
    truth = write_digits(folder, digits)
    _check(_label(folder, output / "labels"), truth)
    compare(digits.data, digits.target)


def write_digits(folder: Path, digits: Any) -> dict[str, str]:
    """Write the images as PNG files, the labelled ones into class folders; return the true label of every file."""
    import numpy as np
    from PIL import Image

    truth = {}
    for i, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        place = str(label) if i % KEEP_EVERY == 0 else "unlabeled"
        file = f"{place}/digit_{i:04d}.png"
        (folder / place).mkdir(parents=True, exist_ok=True)
        gray = np.round(255 - pixels * (255 / 16)).astype(np.uint8)
        Image.fromarray(gray).resize((32, 32), Image.Resampling.BICUBIC).save(folder / file)
        truth[file] = str(label)
    return truth


def _label(folder: Path, output: Path) -> Labelling:
    from grande_gnn.labelling import LabelOptions, label_images

    # SGC, the smaller model, keeps the demo under a minute.
    options = LabelOptions(extractor="pixels", model="sgc", overwrite=True)
    click.echo(f"\n$ grande label {folder} -o {output} --extractor pixels --model sgc --overwrite\n")
    with ProgressMessages() as progress:
        result = label_images(folder, output, options, progress)
    report_result(result, output)
    return result


def _check(result: Labelling, truth: dict[str, str]) -> None:
    rows = zip(result.files, result.labels, result.given, strict=True)
    right = [label == truth[file] for file, label, given in rows if not given]
    click.echo(f"In truth {100 * sum(right) / len(right):.1f} % of the {len(right)} new labels are right.\n")


def compare(features: Any, labels: Any) -> None:
    """Compare degree centrality and GRaNDe over ten folds, a tenth labelled in each, paired."""
    from grande_gnn.experiments import paired_interval

    click.echo(
        "Comparing the degrees on the raw pixels: APPNP, ten folds, each labelled once, the paper's settings."
    )
    plain = _accuracies(features, labels, "centrality", "degree centrality")
    ours = _accuracies(features, labels, "grande", "GRaNDe, σ = 0.2")
    gain = paired_interval(ours, plain)
    verdict = "better" if gain.low > 0 else "worse" if gain.high < 0 else "neither clearly better nor worse"
    click.echo(
        f"  difference         {gain.mean:+6.2f} points (95 % interval {gain.low:+.2f} to {gain.high:+.2f}): on digits "
        f"GRaNDe is {verdict}."
    )
    click.echo("Digits are easy, and do not show what the degree gains on photos: see Results in README.md.")


def _accuracies(features: Any, labels: Any, degree: str, title: str) -> Any:
    """The accuracy of each fold in percent; their mean is printed."""
    from grande_gnn.experiments import evaluate

    with StageBars() as bars, reporting_to(bars):
        (result,) = evaluate(features, labels, degree=degree, repeats=1, progress=counting("train", 200 * 10))
    click.echo(f"  {title:<18} {result.accuracy_mean:6.2f} %")
    return result.accuracies
